import type { Page } from "../../app/page";

export default {
  path: "/pods",
  menu: { section: "compute", order: 2, icon: "pods" },
  title: { en: "Pods", zh: "容器组" },
  load: () => import("./view"),
} satisfies Page;
