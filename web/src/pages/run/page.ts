import type { Page } from "../../app/page";

export default {
  path: ["/runs/details/:id"],
  title: { en: "Run", zh: "运行" },
  load: () => import("./view"),
} satisfies Page;
