// Sets the theme and the language before the first paint; a classic script, so nothing flashes.
(() => {
  const root = document.documentElement;
  const theme = localStorage.getItem("hekla.theme") ?? "auto";
  root.dataset.theme = theme === "auto" ? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light") : theme;
  const language = localStorage.getItem("hekla.language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
  root.lang = language === "zh" ? "zh-CN" : "en";
})();
