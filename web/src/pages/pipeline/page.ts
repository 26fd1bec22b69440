import type { Page } from "../../app/page";

export default {
  path: ["/pipelines/details/:id", "/pipelines/details/:id/version/:version"],
  title: { en: "Pipeline", zh: "流水线" },
  load: () => import("./view"),
} satisfies Page;
