// The conditions of an object as a table.
import { t } from "../text/text";
import { Age } from "./time";

export interface Condition { type?: string; status?: string; reason?: string; message?: string; lastTransitionTime?: string; transitionID?: string }

const COLUMNS: Array<[keyof Condition, string]> = [["type", "Type"], ["status", "Status"], ["reason", "Reason"], ["message", "Message"], ["lastTransitionTime", "Since"]];

export function Conditions({ list }: { list?: Condition[] }) {
  if (!list?.length) return <p class="muted">{t("None.")}</p>;
  // Volcano's conditions have no type and no reason: columns without a word are left out.
  const shown = COLUMNS.filter(([member]) => list.some((one) => one[member]));
  return (
    <table class="conditions">
      <thead><tr>{shown.map(([member, title]) => <th key={member} scope="col">{t(title)}</th>)}</tr></thead>
      <tbody>{list.map((one, at) => (
        <tr key={at}>{shown.map(([member]) => <td key={member}>{member === "lastTransitionTime" ? <Age at={one.lastTransitionTime} /> : one[member]}</td>)}</tr>
      ))}</tbody>
    </table>
  );
}
