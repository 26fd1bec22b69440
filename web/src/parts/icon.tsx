// Line icons of 16 pixels, drawn here: a font or a sprite would be larger than what is used of it.
const PATHS: Record<string, string> = {
  home: "M2.5 7.5 8 3l5.5 4.5V13h-3.7V9.5H6.2V13H2.5z",
  jobs: "M2.5 5.5h11v7.5h-11zM6 5.5V3.5h4v2M2.5 9h11",
  pods: "M8 2.2 13 5v6l-5 2.8L3 11V5zM3 5l5 2.8L13 5M8 7.8v6",
  queues: "M3 4h10M3 8h7M3 12h4",
  nodes: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  events: "M8 2.5v3M3.2 5.2l1.6 1.6M12.8 5.2l-1.6 1.6M5 12.5a3 3 0 0 1 6 0zM2.5 12.5h11",
  notebooks: "M4 2.5h8.5v11H4zM4 5H2.5M4 8H2.5M4 11H2.5M7 5.5h3",
  tensorboards: "M2.5 13.5v-11M2.5 13.5h11M4.5 10.5l3-3.5 2 2 4-5",
  volumes: "M3 4.2c0-2.3 10-2.3 10 0v7.6c0 2.3-10 2.3-10 0zM3 4.2c0 2.3 10 2.3 10 0M3 8c0 2.3 10 2.3 10 0",
  people: "M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6zM1.8 13c.3-5 8.1-5 8.4 0M11 7.3a2 2 0 1 0-1-3.7M11.8 9.3c1.4.4 2.3 1.7 2.4 3.7",
  submit: "M8 10.5V3M5 5.8 8 3l3 2.8M3 10v3h10v-3",
  objects: "M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z",
  pipelines: "M5.5 4a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM13.5 4a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM9.5 12a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM4.7 5.3 7.3 10.700M11.3 5.3 8.7 10.700",
  runs: "M5 3.500l7 4.5-7 4.500z",
  search: "M7 11.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9zM10.300 10.300l3.200 3.200",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.500v1.300M8 13.200v1.300M1.500 8h1.300M13.200 8h1.300M3.400 3.400l.9.9M11.700 11.700l.9.9M3.400 12.600l.9-.9M11.700 4.300l.9-.9",
  moon: "M13 9.500A5.500 5.500 0 0 1 6.500 3a5.500 5.500 0 1 0 6.500 6.500z",
  menu: "M2.500 4.500h11M2.500 8h11M2.500 11.500h11",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  trash: "M3 4.500h10M6.500 4.500v-2h3v2M4.500 4.500l.6 9h5.800l.6-9",
  stop: "M4.500 4.500h7v7h-7z",
  play: "M5 3.500l7 4.500-7 4.500z",
  open: "M6 3.500H3v9.500h9.500v-3M9 3h4v4M13 3 7.500 8.500",
  down: "M8 3v8M5 8l3 3 3-3M3 13.500h10",
  up: "M8 11.500v-8M5 6.500l3-3 3 3M3 13.500h10",
  folder: "M2 4h4.500l1.500 1.500H14V12.500H2z",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  edit: "M3 13l.5-3L10.500 3l2.500 2.500L6 12.500z",
  copy: "M6 6h7v7.500H6zM10 6V2.500H3V10h3",
  terminal: "M3 4.500 6.500 8 3 11.500M8 12h5",
  chevron: "M4.500 6.500 8 10l3.500-3.500",
  back: "M10 3.500 5.500 8l4.500 4.500",
  check: "M3 8.500 6.500 12 13 4.500",
  refresh: "M13 8a5 5 0 1 1-1.500-3.500M13 2.500v3h-3",
  namespace: "M2.500 5 8 2.500 13.500 5 8 7.500zM2.500 8 8 10.500 13.500 8M2.500 11 8 13.500 13.500 11",
  logs: "M3 3.500h10M3 6.500h10M3 9.500h7M3 12.500h5",
  why: "M6 6a2 2 0 1 1 3 1.700c-.7.4-1 .8-1 1.600M8 12h.01M8 14.200A6.200 6.200 0 1 0 8 1.800a6.200 6.200 0 0 0 0 12.400z",
};

export function Icon({ name, size = 16 }: { name: string; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4"
      stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d={PATHS[name] ?? PATHS.objects} /></svg>
  );
}
