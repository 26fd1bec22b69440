// The terminal's own document, in a frame.
import { t } from "../text/text";

export function TerminalFrame({ ns, pod, container }: { ns: string; pod: string; container: string }) {
  const query = new URLSearchParams({ ns, pod, container });
  return <iframe class="frame" title={t("Terminal")} src={`/hekla/terminal?${query}`} />;
}
