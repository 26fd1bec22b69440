import type { Page } from "../../app/page";

export default {
  path: ["/compare"],
  title: { en: "Compare runs", zh: "比较运行" },
  load: () => import("./view"),
} satisfies Page;
