import type { Page } from "../../app/page";

export default {
  path: ["/volumes/volume/details/:ns/:name"],
  title: { en: "Volume", zh: "存储卷" },
  load: () => import("./view"),
} satisfies Page;
