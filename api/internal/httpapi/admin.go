package httpapi

import (
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openseckill/seckill/pkg/seckill"
)

type createInput struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"A repeat with the same key gets the same voucher"`
	Body           newVoucher
}

// newVoucher is checked by seckill.Voucher.Validate; here are only its shapes.
type newVoucher struct {
	Title    string    `json:"title"`
	Price    int64     `json:"price,omitempty" doc:"Minor units of currency"`
	Currency string    `json:"currency,omitempty" default:"CNY" doc:"ISO 4217"`
	Total    int64     `json:"total" doc:"Units on sale"`
	BeginsAt time.Time `json:"beginsAt" doc:"Inclusive"`
	EndsAt   time.Time `json:"endsAt" doc:"Exclusive"`
}

// createVoucher stores a voucher and loads it into Redis. Once it is stored it exists: if
// loading fails, the first buyer who finds it not ready has it loaded.
func (a *API) createVoucher(ctx context.Context, in *createInput) (*voucherOutput, error) {
	v := seckill.Voucher{
		Title: in.Body.Title, Price: in.Body.Price, Currency: in.Body.Currency, Total: in.Body.Total,
		Begin: wholeMillis(in.Body.BeginsAt), End: wholeMillis(in.Body.EndsAt),
	}
	if err := v.Validate(); err != nil {
		return nil, invalid(reason(err) + ".")
	}
	v, created, err := a.vouchers.CreateVoucher(ctx, v, in.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	if created { // a repeat would close the sale for a moment, for nothing
		if err := a.sync(ctx, v.ID); err != nil {
			a.log.WarnContext(ctx, "voucher created and not loaded; the first buyer has it loaded", "voucher", v.ID, "error", err)
		}
		a.forget()
	}
	return a.present(ctx, v), nil
}

// syncVoucher rebuilds a voucher in Redis from SQL.
func (a *API) syncVoucher(ctx context.Context, in *voucherInput) (*voucherOutput, error) {
	id, err := voucherID(in.VoucherID)
	if err != nil {
		return nil, err
	}
	v, err := a.vouchers.Voucher(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := a.sync(ctx, id); err != nil {
		return nil, err
	}
	a.forget()
	out := a.present(ctx, v)
	out.Location = ""
	return out, nil
}

// sync goes on when the client hangs up: one that was cut would leave the sale closed.
func (a *API) sync(ctx context.Context, id seckill.VoucherID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), syncMax)
	defer cancel()
	return a.books.Sync(ctx, id)
}

func (a *API) present(ctx context.Context, v seckill.Voucher) *voucherOutput {
	body := viewVoucher(a.withLeft(ctx, []seckill.Voucher{v})[0], a.now())
	return &voucherOutput{Location: "/api/v1/vouchers/" + v.ID.String(), Body: body}
}

// patient lets an answer take as long as a sync may.
func patient(ctx huma.Context, next func(huma.Context)) {
	deadline(ctx, syncMax+time.Second)
	next(ctx)
}

func wholeMillis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// reason is what Validate found, which is about the request and may be told.
func reason(err error) string {
	var e *seckill.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}
