// Single reads and writes: the Kubernetes API as the visitor, below the page's own origin, and Hekla's own routes.
export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly reason = "", readonly details: unknown = undefined) {
    super(message);
  }
}

const KUBERNETES = "/hekla/v1/k8s";
export const kubernetes_url = (path: string): string => KUBERNETES + path;

// The cookie's value comes back as a header: another origin can send the cookie, but cannot read it.
function csrf_token(): string {
  const found = /(?:^|;\s*)XSRF-TOKEN=([^;]*)/.exec(document.cookie);
  return found ? decodeURIComponent(found[1]) : "";
}

export interface Call {
  method?: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;          // sent as JSON unless it is text already
  content_type?: string;
  signal?: AbortSignal;
  accept?: string;
}

export function with_query(path: string, query: Call["query"]): string {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== "");
  return pairs.length ? `${path}?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")}` : path;
}

// The answer as it is; an error status becomes an ApiError with the server's own words.
export async function send(url: string, call: Call = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: call.accept ?? "application/json" };
  const method = call.method ?? "GET";
  const raw = call.body instanceof Blob || typeof call.body === "string";
  const form = call.body instanceof FormData;  // its own content type names the boundary
  if (call.body !== undefined && !form) headers["Content-Type"] = call.content_type ?? "application/json";
  if (method !== "GET") headers["X-XSRF-TOKEN"] = csrf_token();
  const body = call.body === undefined ? undefined : raw || form ? (call.body as BodyInit) : JSON.stringify(call.body);
  let answer: Response;
  try {
    answer = await fetch(with_query(url, call.query), { method, headers, body, signal: call.signal, credentials: "same-origin" });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer.", "Unavailable");
  }
  if (answer.status === 401) location.reload();  // the session has ended: the reload leads to the login
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

async function refusal(answer: Response): Promise<ApiError> {
  const text = await answer.text();
  try {
    const status = JSON.parse(text);
    return new ApiError(answer.status, status.message ?? status.log ?? status.error_message ?? status.error ?? text, status.reason, status.details);
  } catch {
    return new ApiError(answer.status, text.trim() || `${answer.status} ${answer.statusText}`);
  }
}

export async function call<T>(url: string, options: Call = {}): Promise<T> {
  const answer = await send(url, options);
  // A path that nobody serves is answered with the page itself.
  if (answer.headers.get("Content-Type")?.startsWith("text/html")) throw new ApiError(404, "Nothing is served there.", "NotFound");
  const text = await answer.text();
  return (text ? JSON.parse(text) : null) as T;
}
export const kube = <T>(path: string, options: Call = {}): Promise<T> => call<T>(KUBERNETES + path, options);

export const merge_patch = <T>(path: string, body: unknown): Promise<T> =>
  kube<T>(path, { method: "PATCH", body, content_type: "application/merge-patch+json" });
export const remove = (path: string, policy = "Background"): Promise<unknown> =>
  kube(path, { method: "DELETE", query: { propagationPolicy: policy } });
