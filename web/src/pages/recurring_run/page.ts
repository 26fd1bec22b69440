import type { Page } from "../../app/page";

export default {
  path: ["/recurringruns/details/:id", "/recurringrun/details/:id"],
  title: { en: "Recurring run", zh: "周期运行" },
  load: () => import("./view"),
} satisfies Page;
