import type { Page } from "../../app/page";

export default {
  path: ["/pipelines/details/:id"],
  title: { en: "Pipeline", zh: "流水线" },
  load: () => import("./view"),
} satisfies Page;
