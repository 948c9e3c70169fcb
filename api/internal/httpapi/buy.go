package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/openseckill/seckill/pkg/seckill"
)

// admitter decides a purchase; see package gate.
type admitter interface {
	Admit(ctx context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Admission, error)
}

// bought answers a purchase: 202 for a new order, 200 for the repeat of an earlier one.
type bought struct {
	OrderID   seckill.OrderID   `json:"orderId"`
	VoucherID seckill.VoucherID `json:"voucherId"`
	Status    seckill.Status    `json:"status" doc:"queued, or with repeated what became of the order since"`
	Repeated  bool              `json:"repeated,omitempty" doc:"The caller held this order already"`
	Receipt   string            `json:"receipt,omitempty" doc:"Proof of the acceptance; show it when you ask for the order, and it is found or ended even where the sale lost it"`
}

// buy is the hot path. It is a plain gin handler: no reflection, no body to decode. The
// user is always the token's; nothing in the request can name another.
func (a *API) buy(c *gin.Context) {
	who, err := a.authenticate(c)
	if err != nil {
		fail(c, err)
		return
	}
	v, err := voucherID(c.Param("voucherId"))
	if err != nil {
		fail(c, err)
		return
	}
	// A purchase has no body. One that comes all the same is read and ignored.
	if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
		fail(c, err)
		return
	}
	a.admit(a.allowance.context(c.Request.Context()), c, who.User, v)
}

// admit asks the sale. A client that hangs up changes nothing: the order stands, and the
// same user's retry finds it.
func (a *API) admit(ctx context.Context, c *gin.Context, u seckill.UserID, v seckill.VoucherID) {
	began := time.Now()
	got, err := a.gate.Admit(ctx, u, v)
	code := seckill.CodeOf(err)
	took := time.Since(began)
	a.meter.Admitted(code, took)
	a.meter.Tally.Admitted(v, code, took)

	switch code {
	case "":
		a.tell(c, http.StatusAccepted, a.bought(got.Order, u, v, seckill.Queued))
	case seckill.AlreadyOrdered:
		a.repeat(c, a.bought(got.Order, u, v, a.statusOf(ctx, got.Order)))
	case seckill.Unavailable:
		if row, stored := a.stored(ctx, got.Order); stored {
			a.repeat(c, a.bought(row.ID, u, v, row.Status))
			return
		}
		fail(c, err)
	case seckill.NotStarted:
		fail(c, a.notStarted(got.Begin))
	case seckill.NotReady:
		fail(c, a.notReady(ctx, v))
	default:
		fail(c, err)
	}
}

// bought is an answer with its receipt.
func (a *API) bought(id seckill.OrderID, u seckill.UserID, v seckill.VoucherID, s seckill.Status) bought {
	return bought{OrderID: id, VoucherID: v, Status: s, Receipt: a.receipts.Sign(seckill.Order{ID: id, User: u, Voucher: v})}
}

// stored finds the row of an order that the user holds in Redis, of which too few replicas are
// sure: the row is as good. 0 is none.
func (a *API) stored(ctx context.Context, id seckill.OrderID) (row seckill.Order, found bool) {
	if id == 0 {
		return row, false
	}
	row, err := a.orders.Order(ctx, id)
	return row, err == nil
}

func (a *API) repeat(c *gin.Context, b bought) {
	b.Repeated = true
	a.tell(c, http.StatusOK, b)
}

func (a *API) tell(c *gin.Context, status int, b bought) {
	header := c.Writer.Header()
	header.Set("Location", orderPath(b.OrderID))
	header["Content-Type"] = jsonType
	c.Status(status)
	_, _ = c.Writer.Write(b.json()) // a client that is gone gets nothing
}

var jsonType = []string{"application/json"}

// json is what encoding/json makes of b, made without looking at its type first: none of
// its values needs quoting.
func (b bought) json() []byte {
	text := make([]byte, 0, 192)
	text = strconv.AppendInt(append(text, `{"orderId":"`...), int64(b.OrderID), 10)
	text = strconv.AppendInt(append(text, `","voucherId":"`...), int64(b.VoucherID), 10)
	text = append(append(text, `","status":"`...), b.Status...)
	text = append(text, '"')
	if b.Repeated {
		text = append(text, `,"repeated":true`...)
	}
	if b.Receipt != "" {
		text = append(append(append(text, `,"receipt":"`...), b.Receipt...), '"')
	}
	return append(text, "}\n"...)
}

func orderPath(id seckill.OrderID) string { return "/api/v1/orders/" + id.String() }

// statusOf says what became of an order that is known to exist. Where SQL has no row of it,
// or does not answer, it is queued as far as anybody can tell: the buyer keeps the order.
func (a *API) statusOf(ctx context.Context, id seckill.OrderID) seckill.Status {
	row, err := a.orders.Order(ctx, id)
	if err != nil {
		return seckill.Queued
	}
	return row.Status
}

func (a *API) notStarted(begin time.Time) error {
	return &refusal{code: seckill.NotStarted, begin: begin, retry: begin.Sub(a.now())}
}

// notReady says why Redis has no such sale: there is none, it is long over and its keys
// are gone, or they have yet to be loaded, which is then set going.
func (a *API) notReady(ctx context.Context, id seckill.VoucherID) error {
	v, err := a.voucher.get(ctx, id)
	if errors.Is(err, seckill.VoucherNotFound) {
		return seckill.VoucherNotFound
	}
	if err != nil {
		return err
	}
	now, err := a.sale.Clock(ctx, id) // this node's own clock may be days off
	if err != nil {
		return err
	}
	if !now.Before(v.End) {
		return seckill.Ended
	}
	a.resync.ask(ctx, id)
	return seckill.NotReady
}
