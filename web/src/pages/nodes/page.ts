import type { Page } from "../../app/page";

export default {
  path: ["/nodes", "/nodes/:name"],
  menu: { section: "cluster", order: 1, icon: "nodes" },
  title: { en: "Nodes and devices", zh: "节点与设备" },
  load: () => import("./view"),
} satisfies Page;
