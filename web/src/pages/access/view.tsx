// Who is who: the visitor's memberships, contributors of the namespaces they own, and, for administrators, every
// profile.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../data/api";
import { is_served, load_session, session } from "../../data/session";
import { ask } from "../../parts/dialog";
import { SelectField, TextField } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { Chip } from "../../parts/states";
import { toast, toast_error } from "../../parts/toast";
import { t } from "../../text/text";

interface Binding { user: { kind: string; name: string }; referredNamespace: string; RoleRef: { kind: string; name: string } }
const ROLE: Record<string, string> = { owner: "Owner", contributor: "Contributor", viewer: "Viewer", admin: "Administrator" };
const EMAIL = /^[^\s@]+@[^\s@]+$/;

export default function Access() {
  const here = session.value!;
  const owned = here.namespaces.filter((one) => one.role === "owner");
  return (
    <>
      <div class="page-head"><h1>{t("Profiles and people")}</h1></div>
      <div class="cards">
        <section class="card"><div class="head"><h2 class="grow">{t("You")}</h2>{here.clusterAdmin && <Chip tone="wait">{t("Cluster Admin")}</Chip>}</div><div class="body col">
          <b>{here.user}</b>
          <table class="conditions"><thead><tr><th scope="col">{t("Namespace")}</th><th scope="col">{t("Your role")}</th></tr></thead>
            <tbody>{here.namespaces.slice(0, 100).map((one) => <tr key={one.namespace}><td>{one.namespace}</td><td>{t(ROLE[one.role])}</td></tr>)}</tbody></table>
          {!here.namespaces.length && <p class="muted">{t("You don't have any namespace memberships.")}</p>}
        </div></section>
        {owned.map((one) => <Contributors key={one.namespace} ns={one.namespace} />)}
        {!owned.length && is_served("kubeflow.org/v1/profiles") && <Register />}
        {here.clusterAdmin && <Profiles />}
      </div>
    </>
  );
}

function Contributors({ ns }: { ns: string }) {
  const [list, set_list] = useState<Binding[]>([]);
  const [email, set_email] = useState("");
  const [role, set_role] = useState("edit");
  const load = () => call<{ bindings: Binding[] }>(`/kfam/v1/bindings?namespace=${ns}`).then((answer) => set_list(answer.bindings ?? []), () => undefined);
  useEffect(() => { load(); }, [ns]);
  const body = (user: string, as: string) => ({ user: { kind: "User", name: user }, referredNamespace: ns, RoleRef: { kind: "ClusterRole", name: as } });
  const add = () => call("/kfam/v1/bindings", { method: "POST", body: body(email, role) }).then(() => { set_email(""); toast(t("{user} may now work in {ns}.", { user: email, ns }), "run"); load(); }, toast_error);
  const drop = (one: Binding) => ask({ title: t("Remove {user} from {ns}?", { user: one.user.name, ns }), text: t("They cannot see it any more."), accept: t("Remove"), doing: t("Removing…"), danger: true, act: () => call("/kfam/v1/bindings", { method: "DELETE", body: body(one.user.name, one.RoleRef.name) }).then(load) });
  const others = list.filter((one) => one.user.name !== session.value!.user);
  return (
    <section class="card"><div class="head"><h2>{t("Contributors of {ns}", { ns })}</h2></div><div class="body col">
      <div class="row wrap">{others.map((one) => <span key={one.user.name + one.RoleRef.name} class="chip">{one.user.name} · {one.RoleRef.name}<button aria-label={t("Remove {user}", { user: one.user.name })} onClick={() => drop(one)}><Icon name="close" size={10} /></button></span>)}{!others.length && <span class="muted">{t("Nobody but you.")}</span>}</div>
      <form class="row" style={{ alignItems: "flex-end" }} onSubmit={(event) => { event.preventDefault(); if (EMAIL.test(email)) add(); }}>
        <div class="grow"><TextField label={t("Email address")} value={email} set={set_email} placeholder={t("Add by email address")} /></div>
        <SelectField label={t("As")} value={role} set={set_role} options={[{ value: "edit", text: t("Contributor") }, { value: "view", text: t("Viewer") }, { value: "admin", text: t("Owner") }]} />
        <button class="button primary" disabled={!EMAIL.test(email)}>{t("Add")}</button>
      </form>
    </div></section>
  );
}

// A namespace of one's own, for whoever has none.
function Register() {
  const user = session.value!.user;
  const [name, set_name] = useState(user.split("@")[0].replace(/[^a-z0-9-]+/gi, "-").toLowerCase().replace(/^-+|-+$/g, ""));
  const create = () => call("/api/workgroup/create", { method: "POST", body: { namespace: name } }).then(() => { toast(t("Created namespace {ns}", { ns: name }), "run"); setTimeout(load_session, 800); }, toast_error);
  return <section class="card"><div class="head"><h2>{t("A namespace of your own")}</h2></div><div class="body col"><p class="muted">{t("Notebooks, volumes and runs live in a namespace. Make yours:")}</p><TextField label={t("Namespace Name")} value={name} set={set_name} /><div><button class="button primary" disabled={!name} onClick={create}>{t("Create")}</button></div></div></section>;
}

function Profiles() {
  const [rows, set_rows] = useState<Array<[string, string, string]>>([]);
  useEffect(() => { call<Array<[string, string, string]>>("/api/workgroup/get-all-namespaces").then(set_rows, () => undefined); }, []);
  return <section class="card"><div class="head"><h2>{t("All profiles")}</h2></div><div class="body"><table class="conditions"><thead><tr>{["Namespace", "Owner", "Contributors"].map((head) => <th key={head} scope="col">{t(head)}</th>)}</tr></thead><tbody>{rows.map(([ns, owner, others]) => <tr key={ns}><td>{ns}</td><td>{owner}</td><td>{others}</td></tr>)}</tbody></table>{!rows.length && <p class="muted">{t("None.")}</p>}</div></section>;
}
