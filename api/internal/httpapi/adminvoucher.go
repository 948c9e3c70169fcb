package httpapi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// keeper changes vouchers in both stores; see package books.
type keeper interface {
	healer
	Sync(ctx context.Context, v seckill.VoucherID) error
	Change(ctx context.Context, want seckill.Voucher, by seckill.Deed) (seckill.Voucher, error)
	Apply(ctx context.Context, v seckill.VoucherID) error
}

// judge tells the time by which the window of a voucher is judged; see redisstore.Clock.
type judge interface {
	Clock(ctx context.Context, v seckill.VoucherID) (time.Time, error)
}

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

type changeInput struct {
	VoucherID string `path:"voucherId" doc:"Voucher id, canonical decimal"`
	IfMatch   string `header:"If-Match" maxLength:"255" doc:"The ETag of the version that is to be changed; without it, whatever version there is"`
	Body      voucherChange
}

// voucherChange names what is to be another than it was.
type voucherChange struct {
	Title    *string    `json:"title,omitempty"`
	Total    *int64     `json:"total,omitempty" doc:"Units on sale, those that are held included"`
	BeginsAt *time.Time `json:"beginsAt,omitempty" doc:"Inclusive; a sale that has begun may be put off"`
	EndsAt   *time.Time `json:"endsAt,omitempty" doc:"Exclusive; a sale that is over may be opened again"`
}

// of returns v with the change made.
func (c voucherChange) of(v seckill.Voucher) seckill.Voucher {
	if c.Title != nil {
		v.Title = *c.Title
	}
	if c.Total != nil {
		v.Total = *c.Total
	}
	if c.BeginsAt != nil {
		v.Begin = wholeMillis(*c.BeginsAt)
	}
	if c.EndsAt != nil {
		v.End = wholeMillis(*c.EndsAt)
	}
	return v
}

// createVoucher stores a voucher and loads it into Redis. Once it is stored it exists: if
// loading fails, the first buyer who finds it not ready has it loaded, or a worker before.
func (a *API) createVoucher(ctx context.Context, in *createInput) (*voucherOutput, error) {
	v := seckill.Voucher{
		Title: in.Body.Title, Price: in.Body.Price, Currency: in.Body.Currency, Total: in.Body.Total,
		Begin: wholeMillis(in.Body.BeginsAt), End: wholeMillis(in.Body.EndsAt),
	}
	if err := v.Validate(); err != nil {
		return nil, invalid(reason(err) + ".")
	}
	by := deed(ctx, seckill.VoucherCreated, 0, map[string]any{
		"title": v.Title, "price": v.Price, "currency": v.Currency, "total": v.Total,
		"beginsAt": stamp(v.Begin), "endsAt": stamp(v.End),
	})
	v, created, err := a.vouchers.CreateVoucher(ctx, v, in.IdempotencyKey, by)
	if err != nil {
		return nil, err
	}
	if created { // a repeat would close the sale for a moment, for nothing
		if err := a.sync(ctx, v.ID, seckill.VoucherCreated); err != nil {
			a.log.WarnContext(ctx, "voucher created and not loaded; the first buyer has it loaded", "voucher", v.ID, "error", err)
		}
		a.forget()
	}
	return a.present(ctx, v, true), nil
}

// changeVoucher changes what the request names of a voucher.
func (a *API) changeVoucher(ctx context.Context, in *changeInput) (*voucherOutput, error) {
	id, err := voucherID(in.VoucherID)
	if err != nil {
		return nil, err
	}
	if in.Body == (voucherChange{}) {
		return nil, invalid("The change is empty: it may name title, total, beginsAt and endsAt.")
	}
	was, err := a.vouchers.Voucher(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := match(in.IfMatch, was.Version); err != nil {
		return nil, err
	}
	want := in.Body.of(was)
	if err := want.Validate(); err != nil {
		return nil, invalid(reason(err) + ".")
	}
	out, err := a.change(ctx, was, want, seckill.VoucherChanged)
	var held seckill.Held
	switch {
	case errors.Is(err, seckill.Outdated) && in.IfMatch != "":
		return nil, seckill.PreconditionFailed
	case errors.Is(err, seckill.BelowSold) && errors.As(err, &held):
		return nil, belowSold(held)
	}
	return out, err
}

// belowSold says how low the total can be.
func belowSold(held seckill.Held) error {
	return &refusal{
		code:   seckill.BelowSold,
		detail: fmt.Sprintf("%d units are held, queued orders included. Ask for a total of %[1]d or more.", int64(held)),
		zh:     fmt.Sprintf("已被占用 %d 份（含排队中的订单），总量不能低于 %[1]d。", int64(held)),
	}
}

// closeTries is how often a closing gives way to another change.
const closeTries = 5

// closeVoucher ends a sale at the moment that its judge shows. One that has not begun is
// over at once: it begins a millisecond before its end. Orders in flight stay.
func (a *API) closeVoucher(ctx context.Context, in *voucherInput) (out *voucherOutput, err error) {
	id, err := voucherID(in.VoucherID)
	if err != nil {
		return nil, err
	}
	for range closeTries {
		was, err := a.vouchers.Voucher(ctx, id)
		if err != nil {
			return nil, err
		}
		now, err := a.sale.Clock(ctx, id)
		if err != nil {
			return nil, err
		}
		want := was
		if now = wholeMillis(now); was.End.After(now) {
			want.End = now
		}
		if !want.Begin.Before(want.End) {
			want.Begin = want.End.Add(-time.Millisecond)
		}
		if out, err = a.change(ctx, was, want, seckill.VoucherClosed); !errors.Is(err, seckill.Outdated) {
			return out, err
		}
	}
	return nil, seckill.Outdated
}

func (a *API) change(ctx context.Context, was, want seckill.Voucher, action seckill.Action) (*voucherOutput, error) {
	v, err := errand(ctx, a.errands, a.logOf(ctx, action, want.ID), func(ctx context.Context) (seckill.Voucher, error) {
		return a.enforce(ctx, was, want, action)
	})
	if err != nil {
		return nil, err
	}
	return a.present(ctx, v, false), nil
}

// enforce makes was into want. Where nothing differs it only sees to it that Redis has it,
// which completes an earlier try that reached SQL alone.
func (a *API) enforce(ctx context.Context, was, want seckill.Voucher, action seckill.Action) (seckill.Voucher, error) {
	v := was
	if changes := difference(was, want); len(changes) > 0 {
		var err error
		if v, err = a.books.Change(ctx, want, deed(ctx, action, want.ID, changes)); err != nil {
			return v, err
		}
	}
	err := a.books.Apply(ctx, v.ID)
	a.forget()
	if err != nil {
		a.log.WarnContext(ctx, "voucher changed in SQL and not in Redis; a worker completes it", "voucher", v.ID, "version", v.Version, "error", err)
		return v, &refusal{code: seckill.Unavailable, detail: "The change is stored, as version " + strconv.FormatInt(v.Version, 10) +
			", and not in force yet: Redis does not answer. Workers complete it within minutes; the same request without If-Match does at once."}
	}
	return v, nil
}

// difference lists what changes, each with what it was and what it will be.
func difference(was, want seckill.Voucher) map[string]any {
	changes := map[string]any{}
	if was.Title != want.Title {
		changes["title"] = []string{was.Title, want.Title}
	}
	if was.Total != want.Total {
		changes["total"] = []int64{was.Total, want.Total}
	}
	if !was.Begin.Equal(want.Begin) {
		changes["beginsAt"] = []string{stamp(was.Begin), stamp(want.Begin)}
	}
	if !was.End.Equal(want.End) {
		changes["endsAt"] = []string{stamp(was.End), stamp(want.End)}
	}
	return changes
}

// match holds a version to an If-Match header: *, or a list of ETags. A weak one matches nothing.
func match(header string, version int64) error {
	if header == "" {
		return nil
	}
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || tag == etag(version) {
			return nil
		}
		if text := strings.TrimPrefix(tag, "W/"); len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
			return invalid(`If-Match is no list of ETags, such as "3".`)
		}
	}
	return seckill.PreconditionFailed
}

// etag names a version of a voucher.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// syncVoucher rebuilds a voucher in Redis from SQL.
func (a *API) syncVoucher(ctx context.Context, in *voucherInput) (*voucherOutput, error) {
	id, err := voucherID(in.VoucherID)
	if err != nil {
		return nil, err
	}
	if _, err := a.vouchers.Voucher(ctx, id); err != nil {
		return nil, err
	}
	if err := a.deeds.LogDeed(ctx, deed(ctx, seckill.VoucherSynced, id, nil)); err != nil {
		return nil, err
	}
	if err := a.sync(ctx, id, seckill.VoucherSynced); err != nil {
		return nil, err
	}
	a.forget()
	v, err := a.vouchers.Voucher(ctx, id) // it has a new epoch, and may have a new version
	if err != nil {
		return nil, err
	}
	return a.present(ctx, v, false), nil
}

func (a *API) sync(ctx context.Context, id seckill.VoucherID, action seckill.Action) error {
	_, err := errand(ctx, a.errands, a.logOf(ctx, action, id), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, a.books.Sync(ctx, id)
	})
	return err
}

func (a *API) present(ctx context.Context, v seckill.Voucher, made bool) *voucherOutput {
	out := &voucherOutput{ETag: etag(v.Version), Body: viewVoucher(a.withLeft(ctx, []seckill.Voucher{v})[0], a.now())}
	if made {
		out.Location = "/api/v1/vouchers/" + v.ID.String()
	}
	return out
}
