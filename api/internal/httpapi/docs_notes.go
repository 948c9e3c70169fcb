package httpapi

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openseckill/seckill/pkg/seckill"
)

const aboutAPI = `A flash sale: more buyers than units, and exactly as many orders as units.

Who calls is told by a bearer JWT: sub is the user id, role is admin, service or absent. Ids are decimal strings, because JavaScript numbers end at 2^53. Times are RFC 3339 in UTC. Prices are whole minor units of their currency.

Every error is a problem of RFC 9457. Its code never changes; its title and its general detail are in English or Chinese, by Accept-Language; its type leads to /problems, which says what each code means and what to do. Any address may also answer ROUTE_NOT_FOUND or METHOD_NOT_ALLOWED. An answer with Retry-After is worth asking again: a repeat of any request does its work once.`

// The order of the tags is that of the page.
var tags = []*huma.Tag{
	{Name: "Sale", Description: "What is on sale, and buying it"},
	{Name: "Orders", Description: "What becomes of an order"},
	{Name: "Administration", Description: "Running sales; for the role admin"},
}

// The values of the examples, which belong together.
const (
	exampleRequest = "J4BZ6MUT5PV3QX2YAEKRC7DNWH"
	exampleBegin   = "2026-06-01T12:00:00.000Z"
	exampleEnd     = "2026-06-01T14:00:00.000Z"
	exampleStored  = "2026-06-01T12:00:00.310Z"
	exampleExpiry  = "2026-06-01T12:15:00.310Z"
	exampleReceipt = "1001.q3T0gGmK0Yc9b1V8bqv0Xw"

	exampleUser    seckill.UserID    = 42
	exampleVoucher seckill.VoucherID = 1001
	exampleOrder   seckill.OrderID   = 191591179124737025
)

var (
	exampleBought = bought{OrderID: exampleOrder, VoucherID: exampleVoucher, Status: seckill.Queued, Receipt: exampleReceipt}
	exampleRepeat = bought{OrderID: exampleOrder, VoucherID: exampleVoucher, Status: seckill.Created, Repeated: true, Receipt: exampleReceipt}
	exampleView   = voucherView{
		VoucherID: exampleVoucher, Title: "Tea set", Price: 9900, Currency: "CNY", Total: 100, Left: 37,
		BeginsAt: exampleBegin, EndsAt: exampleEnd, State: seckill.Open, Now: exampleStored,
	}
	exampleCreated = orderView{
		OrderID: exampleOrder, VoucherID: exampleVoucher, UserID: exampleUser, Status: seckill.Created,
		CreatedAt: exampleStored, ExpiresAt: exampleExpiry,
	}
)

var (
	exampleCancelled = withStatus(seckill.Cancelled)
	examplePaid      = withStatus(seckill.Paid)
)

func withStatus(s seckill.Status) orderView {
	view := exampleCreated
	view.Status = s
	return view
}

var (
	exampleDeed = deedView{
		ID: "17", At: exampleStored, Actor: 1, Action: seckill.VoucherChanged, VoucherID: exampleVoucher,
		RequestID: exampleRequest, Detail: json.RawMessage(`{"total":[100,150]}`),
	}
	exampleDead = deadView{
		ID: "1764500000000-0", Original: "1764499999000-0", Reason: seckill.ReasonWornOut, BuriedAt: exampleStored, Attempts: 11,
		OrderID: exampleOrder, UserID: exampleUser, VoucherID: exampleVoucher,
		Fields: []string{"id", exampleOrder.String(), "userId", exampleUser.String(), "voucherId", exampleVoucher.String()},
	}
	exampleAudit = auditView{
		Report: seckill.Report{
			Voucher: exampleVoucher, Drift: []seckill.Finding{}, Waiting: 3,
			Redis: seckill.RedisBooks{State: "open", Total: 100, Stock: 37, Buyers: 63, Tickets: 63, Version: 3, Begin: 1780315200000, End: 1780322400000},
			SQL:   seckill.SQLBooks{Total: 100, Stock: 40, ByStatus: map[seckill.Status]int64{seckill.Created: 60}, Version: 3, Begin: 1780315200000, End: 1780322400000},
		},
		Balanced: true,
	}
)

// exampleSample is cut short: a sample has some thousand bytes.
const exampleSample = "event: sample\ndata: {\"at\":\"" + exampleStored + "\",\"traffic\":{\"requests\":1403,\"accepted\":63,\"refused\":{\"ALREADY_ORDERED\":140,\"NOT_STARTED\":1200},\"requestsPerSecond\":212.4,\"acceptedPerSecond\":21,\"p50\":1.3,\"p99\":6.1}," +
	"\"queue\":{\"at\":\"" + exampleStored + "\",\"waiting\":3,\"pending\":2,\"oldestSeconds\":0.02,\"dead\":0,\"consumers\":[{\"name\":\"worker-1\",\"holds\":2,\"idleSeconds\":0.01}]}}\n\n"

// notes has a row for each operation, by its id.
var notes = map[string]note{
	"listVouchers": {
		tag:  "Sale",
		text: "Vouchers by id, a page at a time. Units left are at most about a second old.",
		good: map[int]told{200: {text: "A page of vouchers", body: voucherPage{Items: []voucherView{exampleView}, Next: exampleVoucher}}},
	},
	"getVoucher": {
		tag:   "Sale",
		text:  "One voucher with its window, the units left and the server's clock for a countdown.",
		good:  map[int]told{200: {text: "The voucher", body: exampleView, headers: []string{"ETag"}}},
		codes: []seckill.Code{seckill.VoucherNotFound},
	},
	"buy": {
		tag: "Sale",
		text: "Takes one unit for the caller. The order is accepted at once and stored within moments: read what becomes of it at Location, with wait if you like. " +
			"A caller holds at most one order of a voucher: asking again answers 200 with the order that is there, so a lost answer is got back by asking again. A body is ignored.",
		good: map[int]told{
			202: {text: "The order is accepted and will be stored", body: exampleBought, headers: []string{"Location"}},
			200: {text: "The caller holds an order of this voucher already: this one", body: exampleRepeat, headers: []string{"Location"}},
		},
		codes: []seckill.Code{
			seckill.SoldOut, seckill.NotStarted, seckill.Ended, seckill.VoucherNotFound,
			seckill.NotReady, seckill.Overloaded, seckill.RateLimited,
		},
	},
	"getOrder": {
		tag: "Orders",
		text: "An order of the caller, from the moment it was accepted; an admin reads any. " +
			"With wait the answer comes as soon as the order is no longer queued, or when the time is up. " +
			"With the receipt that came with it an order is found also where Redis crashed and forgot it: it is queued again under its id or, where nothing is left, rejected as lost.",
		good:  map[int]told{200: {text: "The order as it is now", body: exampleCreated}},
		codes: []seckill.Code{seckill.OrderNotFound, seckill.Overloaded, seckill.NotReady},
	},
	"followOrder": {
		tag: "Orders",
		text: "The order as it is now, then once more after each change, as events named order whose data is what getOrder answers. " +
			"The stream ends after a final status (paid, cancelled, rejected), and when the server stops: ask again unless the last status was final. A comment every 15 seconds shows that it lives.",
		good:  map[int]told{200: {text: "Events, until the status is final", body: "event: order\ndata: {\"orderId\":\"191591179124737025\",\"voucherId\":\"1001\",\"userId\":\"42\",\"status\":\"queued\"}\n\n"}},
		codes: []seckill.Code{seckill.OrderNotFound, seckill.Overloaded, seckill.NotReady},
	},
	"listOrders": {
		tag:  "Orders",
		text: "The caller's orders, newest first, a page at a time. The first page has those that still wait to be stored, too, however many it may hold.",
		good: map[int]told{200: {text: "A page of orders", body: ordersPage{Orders: []orderView{exampleCreated}, Next: exampleOrder}}},
	},
	"getOrderOfVoucher": {
		tag:   "Orders",
		text:  "The order by which the caller holds a unit of the voucher, from the moment it was accepted. One that was cancelled or rejected holds none: 404.",
		good:  map[int]told{200: {text: "The order as it is now", body: exampleCreated}},
		codes: []seckill.Code{seckill.OrderNotFound, seckill.NotReady},
	},
	"cancelOrder": {
		tag: "Orders",
		text: "Lets an unpaid order die; an admin may cancel any. Its unit is back on sale at once, and the caller may buy again. " +
			"A repeat answers the same, and so does an order that was rejected: it holds nothing. An order that still waits to be stored is QUEUED.",
		good:  map[int]told{200: {text: "The order as it is now: it holds no unit", body: exampleCancelled}},
		codes: []seckill.Code{seckill.OrderNotFound, seckill.CodePaid, seckill.CodeQueued},
	},
	"payOrder": {
		tag: "Orders",
		text: "For the payment service, role service: the money for the order is in. The amount has to be the voucher's price. A repeat with the same reference answers the same. " +
			"Payment and time-out are decided by whichever comes first. With CANCELLED and REJECTED the payment is kept in the table late_payment, once for each reference, so that it can be refunded.",
		body: newPayment{Reference: "4200001234202606011234567890", Amount: 9900},
		good: map[int]told{200: {text: "The order, which is paid", body: examplePaid}},
		codes: []seckill.Code{
			seckill.Forbidden, seckill.OrderNotFound, seckill.CodeQueued, seckill.CodeCancelled, seckill.CodeRejected,
			seckill.AlreadyPaid, seckill.AmountMismatch, seckill.Conflict,
		},
	},
	"createVoucher": {
		tag: "Administration",
		text: "Puts units on sale. The voucher exists once this answers; if Redis was away, the first buyer has it loaded, or a worker before. " +
			"A repeat with the same Idempotency-Key gets the voucher that is there; the same key with another voucher is a CONFLICT.",
		body: newVoucher{
			Title: "Tea set", Price: 9900, Currency: "CNY", Total: 100,
			BeginsAt: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC), EndsAt: time.Date(2026, 6, 1, 14, 0, 0, 0, time.UTC),
		},
		good:  map[int]told{201: {text: "The voucher as it was created", body: exampleView, headers: []string{"Location", "ETag"}}},
		codes: []seckill.Code{seckill.Conflict},
	},
	"changeVoucher": {
		tag: "Administration",
		text: "Changes what the body names, and nothing else. Buyers on every node meet it within a second, and a sale is not closed for it. " +
			"With If-Match it is made to that version alone; without it, of two changes at once the slower one is STALE. " +
			"A total may not go below what is held, queued orders included. A sale that has begun may be put off, and one that is over opened again. " +
			"UNAVAILABLE with a version in its detail: the change is stored and not in force yet; the same request without If-Match completes it, and workers do within minutes.",
		body:  voucherChange{Total: new(int64(150))},
		good:  map[int]told{200: {text: "The voucher as it is now", body: exampleView, headers: []string{"ETag"}}},
		codes: []seckill.Code{seckill.VoucherNotFound, seckill.BelowSold, seckill.PreconditionFailed, seckill.Outdated, seckill.NotReady},
	},
	"closeVoucher": {
		tag: "Administration",
		text: "Ends the sale at this moment, by the clock that judges its window. Orders that were accepted stay. " +
			"One that has not begun is over without having begun. Safe to repeat: a sale that is over stays as it is. PATCH endsAt opens it again.",
		good:  map[int]told{200: {text: "The voucher, ended", body: exampleView, headers: []string{"ETag"}}},
		codes: []seckill.Code{seckill.VoucherNotFound, seckill.Outdated, seckill.NotReady},
	},
	"auditVoucher": {
		tag:   "Administration",
		text:  "Compares Redis and SQL user by user and changes nothing. It may be run while the sale runs: what is under way is no drift.",
		good:  map[int]told{200: {text: "The books", body: exampleAudit}},
		codes: []seckill.Code{seckill.VoucherNotFound},
	},
	"watchSale": {
		tag: "Administration",
		text: "A sample of the whole sale each second, as events named sample: purchases of all api processes and how they ended, the vouchers on sale with what SQL and Redis have of them, the order stream with its workers, the processes, and the newest warnings of their logs. " +
			"Each part says when it was measured; one with an error did not answer this time, and its numbers are as old as its at. Rates are per second, times of answers in ms. " +
			"The stream ends after a quarter of an hour and when the server stops: ask again.",
		good: map[int]told{200: {text: "Events, one a second", body: exampleSample}},
	},
	"listAdminVouchers": {
		tag:  "Administration",
		text: "Vouchers by id, a page at a time, each with what is sold, its version and its epoch.",
		good: map[int]told{200: {text: "A page of vouchers", body: adminVoucherPage{Items: []adminVoucher{{exampleView, 60, 3, 2}}, Next: exampleVoucher}}},
	},
	"listDeeds": {
		tag: "Administration",
		text: "What admins did over HTTP, newest first, a page at a time. A creation or change is here if it was made, and only then; " +
			"sync, replay and drop are written down before they are tried.",
		good: map[int]told{200: {text: "A page of the log", body: deedPage{Items: []deedView{exampleDeed}, Next: exampleDeed.ID}}},
	},
	"listDead": {
		tag:  "Administration",
		text: "The messages that could not be stored, oldest first in each partition, a page at a time.",
		good: map[int]told{200: {text: "A page of messages", body: deadPage{Items: []deadView{exampleDead}, Next: exampleDead.ID}}},
	},
	"replayDead": {
		tag: "Administration",
		text: "Admits the user of a message anew under a new order id, as if they bought now, and drops the message. " +
			"It stays where the voucher is sold out, not on sale or gone, where its user holds an order (CONFLICT), or where no user can be read (CONFLICT). A repeat makes no second order.",
		good: map[int]told{202: {text: "The new order is accepted and will be stored", body: exampleBought, headers: []string{"Location"}}},
		codes: []seckill.Code{
			seckill.DeadNotFound, seckill.VoucherNotFound, seckill.Conflict,
			seckill.SoldOut, seckill.NotStarted, seckill.Ended, seckill.NotReady,
		},
	},
	"dropDead": {
		tag:   "Administration",
		text:  "Deletes a message for ever. What it said is in the answer, and stays in the log.",
		good:  map[int]told{200: {text: "The message that is gone", body: exampleDead}},
		codes: []seckill.Code{seckill.DeadNotFound},
	},
	"syncVoucher": {
		tag:   "Administration",
		text:  "Rebuilds the voucher's keys in Redis from SQL and the orders that wait. Its sale is closed for that moment; orders in flight stay. Safe to repeat.",
		good:  map[int]told{200: {text: "The voucher, rebuilt", body: exampleView, headers: []string{"ETag"}}},
		codes: []seckill.Code{seckill.VoucherNotFound, seckill.NotReady, seckill.Outdated},
	},
}

// word is what a parameter or a field of a name means wherever it turns up.
type word struct {
	text    string
	pattern string
	example any
	oneOf   []any
}

const idPattern = "^[1-9][0-9]{0,18}$"

var words = map[string]word{
	"orderId":         {text: "Order id, canonical decimal", pattern: idPattern, example: exampleOrder.String()},
	"voucherId":       {text: "Voucher id, canonical decimal", pattern: idPattern, example: exampleVoucher.String()},
	"userId":          {text: "User id, canonical decimal", pattern: idPattern, example: exampleUser.String()},
	"nextCursor":      {pattern: idPattern, example: exampleOrder.String()},
	"next":            {example: exampleVoucher.String()},
	"id":              {example: exampleDead.ID},
	"cursor":          {text: "Where the page begins: what the page before ended with", example: exampleVoucher.String()},
	"limit":           {text: "How many at most", example: 50},
	"wait":            {example: "10s"},
	"receipt":         {example: exampleReceipt},
	"Seckill-Receipt": {example: exampleReceipt},
	"Idempotency-Key": {text: "Names this creation, so that a repeat makes no second one", example: "spring-sale-1"},
	"If-Match":        {text: "The version that is to be changed, as ETag told it", example: `"3"`},
	"status": {text: "Where the order is: queued, then created, then paid or cancelled; or rejected",
		oneOf: []any{"queued", "created", "paid", "cancelled", "rejected"}, example: "created"},
	"title":     {text: "What it is called", example: "Tea set"},
	"createdAt": {text: "When it was stored, by the database's clock", example: exampleStored},
	"expiresAt": {example: exampleExpiry},
	"beginsAt":  {example: exampleBegin},
	"endsAt":    {example: exampleEnd},
	"now":       {example: exampleStored},
	"currency":  {example: "CNY"},
	"reason":    {example: "short"},
	"message":   {text: "What is wrong", example: "expected required property total to be present"},
}

// headers that answers carry, by name.
var headers = map[string]*huma.Param{
	headerRequest:      header("Names this request in the logs; the caller's own if it sent a good one", exampleRequest),
	"Content-Language": header("Language of title and detail: en or zh", "en"),
	"Location":         header("Where to read what was made", "/api/v1/orders/"+exampleOrder.String()),
	"Retry-After":      header("Seconds after which to ask again; sent with the codes that are worth it", "1"),
	"WWW-Authenticate": header("The token that is wanted, and what was wrong with the one that came", `Bearer realm="seckill", error="invalid_token"`),
	"ETag":             header("The version of the voucher, for If-Match", `"3"`),
}

func header(text, example string) *huma.Param {
	return &huma.Param{Description: text, Schema: &huma.Schema{Type: huma.TypeString}, Example: example}
}
