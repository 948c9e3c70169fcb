package httpapi

import (
	"context"
	"strconv"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// vouchers are those of SQL; see sqlstore.
type vouchers interface {
	CreateVoucher(ctx context.Context, v seckill.Voucher, idempotencyKey string, by ...seckill.Deed) (seckill.Voucher, bool, error)
	Voucher(ctx context.Context, id seckill.VoucherID) (seckill.Voucher, error)
	Vouchers(ctx context.Context, after seckill.VoucherID, limit int) ([]seckill.Voucher, error)
}

// stock tells how many units are left; see redisstore.Left.
type stock interface {
	Left(ctx context.Context, vs []seckill.VoucherID) (map[seckill.VoucherID]int64, error)
}

// shown is a voucher with the units left as buyers see them. What changes with the clock
// alone, state and now, is worked out for each answer.
type shown struct {
	seckill.Voucher
	left int64
}

// voucherView is a voucher as anybody sees it.
type voucherView struct {
	VoucherID seckill.VoucherID `json:"voucherId"`
	Title     string            `json:"title"`
	Price     int64             `json:"price" doc:"Minor units of currency"`
	Currency  string            `json:"currency" doc:"ISO 4217"`
	Total     int64             `json:"total" doc:"Units of the whole sale"`
	Left      int64             `json:"left" doc:"Units left, at most about a second old"`
	BeginsAt  string            `json:"beginsAt" format:"date-time" doc:"Inclusive"`
	EndsAt    string            `json:"endsAt" format:"date-time" doc:"Exclusive"`
	State     seckill.State     `json:"state" enum:"upcoming,open,soldOut,ended"`
	Now       string            `json:"now" format:"date-time" doc:"The server's clock, for countdowns"`
}

type voucherInput struct {
	VoucherID string `path:"voucherId" doc:"Voucher id, canonical decimal"`
}

type voucherOutput struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     voucherView
}

type vouchersInput struct {
	Cursor string `query:"cursor" doc:"The next of the page before"`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"100"`
}

type vouchersOutput struct{ Body voucherPage }

type voucherPage struct {
	Items []voucherView     `json:"items" nullable:"false"`
	Next  seckill.VoucherID `json:"next,omitempty" doc:"The cursor of the next page; absent on the last"`
}

func (a *API) getVoucher(ctx context.Context, in *voucherInput) (*voucherOutput, error) {
	id, err := voucherID(in.VoucherID)
	if err != nil {
		return nil, err
	}
	v, err := a.voucher.get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &voucherOutput{ETag: etag(v.Version), Body: viewVoucher(v, a.now())}, nil
}

// page names one page of the list: what comes after an id.
type page struct {
	after seckill.VoucherID
	limit int
}

func (a *API) listVouchers(ctx context.Context, in *vouchersInput) (*vouchersOutput, error) {
	after, err := voucherCursor(in.Cursor)
	if err != nil {
		return nil, err
	}
	p := page{after, in.Limit}
	list, err := a.pages.get(ctx, p)
	if err != nil {
		return nil, err
	}
	now := a.now()
	body := voucherPage{Items: []voucherView{}}
	for _, v := range list {
		if len(body.Items) == p.limit {
			body.Next = body.Items[p.limit-1].VoucherID
			break
		}
		body.Items = append(body.Items, viewVoucher(v, now))
	}
	return &vouchersOutput{Body: body}, nil
}

var badCursor = invalid("cursor is not the next of an earlier page.")

// voucherCursor is the voucher after which a page begins, 0 for the first page.
func voucherCursor(s string) (seckill.VoucherID, error) {
	if s == "" {
		return 0, nil
	}
	id, err := seckill.ParseVoucherID(s)
	if err != nil {
		return 0, badCursor
	}
	return id, nil
}

func (a *API) loadVoucher(ctx context.Context, id seckill.VoucherID) (shown, error) {
	v, err := a.vouchers.Voucher(ctx, id)
	if err != nil {
		return shown{}, err
	}
	return a.withLeft(ctx, []seckill.Voucher{v})[0], nil
}

// loadPage loads one voucher more than the page holds, which tells whether another follows.
func (a *API) loadPage(ctx context.Context, p page) ([]shown, error) {
	vs, err := a.vouchers.Vouchers(ctx, p.after, p.limit+1)
	if err != nil {
		return nil, err
	}
	return a.withLeft(ctx, vs), nil
}

// withLeft adds what Redis has left of each. SQL's stock stands in where a voucher is not
// loaded, and for all of them where Redis does not answer: a display need not be exact.
func (a *API) withLeft(ctx context.Context, vs []seckill.Voucher) []shown {
	ids := make([]seckill.VoucherID, len(vs))
	for i, v := range vs {
		ids[i] = v.ID
	}
	left, err := a.sale.Left(ctx, ids)
	if err != nil {
		left = nil
	}
	out := make([]shown, len(vs))
	for i, v := range vs {
		out[i] = shown{Voucher: v, left: v.Stock}
		if n, ok := left[v.ID]; ok {
			out[i].left = n
		}
	}
	return out
}

func viewVoucher(v shown, now time.Time) voucherView {
	return voucherView{
		VoucherID: v.ID, Title: v.Title, Price: v.Price, Currency: v.Currency, Total: v.Total, Left: v.left,
		BeginsAt: stamp(v.Begin), EndsAt: stamp(v.End), State: v.StateAt(now, v.left), Now: stamp(now),
	}
}

func voucherID(s string) (seckill.VoucherID, error) {
	id, err := seckill.ParseVoucherID(s)
	if err != nil {
		return 0, badID("voucherId", s)
	}
	return id, nil
}

func orderID(s string) (seckill.OrderID, error) {
	id, err := seckill.ParseOrderID(s)
	if err != nil {
		return 0, badID("orderId", s)
	}
	return id, nil
}

func badID(name, s string) error {
	if len(s) > 40 {
		s = s[:40]
	}
	return invalid(name + " " + strconv.Quote(s) + " is not a whole number from 1 to 9223372036854775807.")
}
