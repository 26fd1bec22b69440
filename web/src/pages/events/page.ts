import type { Page } from "../../app/page";

export default {
  path: ["/events", "/activity"],
  menu: { section: "cluster", order: 2, icon: "events" },
  title: { en: "Events", zh: "事件" },
  load: () => import("./view"),
} satisfies Page;
