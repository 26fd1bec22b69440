import type { Page } from "../../app/page";

export default {
  path: ["/tensorboards/", "/tensorboards/new", "/_/tensorboards"],
  menu: { section: "workbench", order: 2, icon: "tensorboards" },
  title: { en: "TensorBoards", zh: "TensorBoard" },
  load: () => import("./view"),
  needs: "tensorboard.kubeflow.org/v1alpha1/tensorboards",
} satisfies Page;
