import type { Page } from "../../app/page";

export default {
  path: ["/runs/new"],
  title: { en: "New run", zh: "新建运行" },
  load: () => import("./view"),
} satisfies Page;
