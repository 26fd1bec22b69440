import type { Page } from "../../app/page";

export default {
  path: "/pods/:ns/:name",
  title: { en: "Pod", zh: "容器组" },
  load: () => import("./view"),
} satisfies Page;
