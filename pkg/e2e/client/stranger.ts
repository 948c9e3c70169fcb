// A client of the API as a stranger writes it: from its description alone, with a generated
// client. It prints what it met as one line of JSON.
import createClient from "openapi-fetch";
import type { paths } from "./api.js"; // generated

declare const process: { argv: string[] };

const [, , baseUrl = "", voucherId = "", ...tokens] = process.argv;
const [alice, bob, till] = tokens.map((token) =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } }),
);
type Client = NonNullable<typeof alice>;

function must<T>(what: string, answer: { data?: T; error?: { code: string; detail: string } }): T {
  if (answer.data === undefined) throw new Error(`${what}: ${answer.error?.code} ${answer.error?.detail}`);
  return answer.data;
}

// buy places an order and waits until it is stored.
async function buy(buyer: Client): Promise<string> {
  const bought = must("buy", await buyer.POST("/api/v1/vouchers/{voucherId}/orders", { params: { path: { voucherId } } }));
  const order = must("wait", await buyer.GET("/api/v1/orders/{orderId}", {
    params: { path: { orderId: bought.orderId }, query: { wait: "10s" } },
  }));
  if (order.status !== "created") throw new Error(`order ${order.orderId} is ${order.status}`);
  return order.orderId;
}

const kept = await buy(alice!);
const given = await buy(bob!);
const again = must("again", await alice!.POST("/api/v1/vouchers/{voucherId}/orders", { params: { path: { voucherId } } }));
const voucher = must("voucher", await alice!.GET("/api/v1/vouchers/{voucherId}", { params: { path: { voucherId } } }));

const paid = must("pay", await till!.POST("/api/v1/orders/{orderId}/pay", {
  params: { path: { orderId: kept } },
  body: { reference: "stranger-1", amount: voucher.price },
}));
const cancelled = must("cancel", await bob!.POST("/api/v1/orders/{orderId}/cancel", { params: { path: { orderId: given } } }));

// A refusal is typed, too: its code is one of those described.
const late = await alice!.POST("/api/v1/orders/{orderId}/cancel", { params: { path: { orderId: kept } } });
const missing = await bob!.GET("/api/v1/orders/{orderId}", { params: { path: { orderId: kept } } });

console.log(JSON.stringify({
  kept,
  repeated: again.repeated === true && again.orderId === kept,
  statuses: [paid.status, cancelled.status],
  refusals: [late.error?.code, missing.error?.code],
}));
