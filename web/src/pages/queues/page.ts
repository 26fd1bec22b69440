import type { Page } from "../../app/page";

export default {
  path: ["/queues", "/queues/:name"],
  menu: { section: "compute", order: 3, icon: "queues" },
  title: { en: "Queues", zh: "队列" },
  load: () => import("./view"),
} satisfies Page;
