import type { Page } from "../../app/page";

export default {
  path: ["/artifacts", "/artifacts/:id"],
  menu: { section: "pipelines", order: 5, icon: "objects" },
  title: { en: "Artifacts", zh: "制品" },
  load: () => import("./view"),
} satisfies Page;
