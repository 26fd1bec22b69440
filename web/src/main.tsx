import "./tokens.css";
import "./base.css";
import { render } from "preact";
import { Shell } from "./app/shell";
import { follow_links } from "./app/router";
import { load_texts } from "./text/text";

follow_links();
load_texts().then(() => render(<Shell />, document.getElementById("app")!));
