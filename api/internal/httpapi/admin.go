package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/openseckill/seckill/pkg/seckill"
)

// deeds is the log of what admins did; see sqlstore.LogDeed.
type deeds interface {
	LogDeed(ctx context.Context, d seckill.Deed) error
	Deeds(ctx context.Context, before int64, limit int) ([]seckill.Deed, error)
}

// routeAdmin registers what admins may call.
func (a *API) routeAdmin(api huma.API) {
	operation := func(id, method, path, summary string, also ...func(huma.Context, func(huma.Context))) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: "/api/v1/admin/" + path, Summary: summary, Security: bearer,
			MaxBodyBytes: limitedElsewhere, Middlewares: append(huma.Middlewares{a.adminOnly, named}, also...),
		}
	}
	create := operation("createVoucher", http.MethodPost, "vouchers", "Create a voucher and load it into Redis", patient)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, a.createVoucher)
	huma.Register(api, operation("changeVoucher", http.MethodPatch, "vouchers/{voucherId}", "Change a voucher's title, window or total", patient), a.changeVoucher)
	huma.Register(api, operation("closeVoucher", http.MethodPost, "vouchers/{voucherId}/close", "End a sale now", patient), a.closeVoucher)
	huma.Register(api, operation("syncVoucher", http.MethodPost, "vouchers/{voucherId}/sync", "Rebuild a voucher in Redis from SQL", patient), a.syncVoucher)
	huma.Register(api, operation("auditVoucher", http.MethodGet, "vouchers/{voucherId}/audit", "The books of a voucher, and whether they balance", patient), a.auditVoucher)
	huma.Register(api, operation("listAdminVouchers", http.MethodGet, "vouchers", "Vouchers with their books, by id"), a.listAdminVouchers)
	huma.Register(api, operation("listDeeds", http.MethodGet, "log", "What admins did, newest first"), a.listDeeds)
	huma.Register(api, operation("listDead", http.MethodGet, "dead", "The buried messages, oldest first"), a.listDead)
	replay := operation("replayDead", http.MethodPost, "dead/{id}/replay", "Admit the user of a buried message anew", patient)
	replay.DefaultStatus = http.StatusAccepted
	huma.Register(api, replay, a.replayDead)
	huma.Register(api, operation("dropDead", http.MethodPost, "dead/{id}/drop", "Delete a buried message for ever"), a.dropDead)
}

type requestKey struct{}

// named lets a handler write down by which request it did something.
func named(ctx huma.Context, next func(huma.Context)) {
	next(huma.WithValue(ctx, requestKey{}, requestID(humagin.Unwrap(ctx))))
}

// deed is what the caller does, for the log.
func deed(ctx context.Context, action seckill.Action, v seckill.VoucherID, detail map[string]any) seckill.Deed {
	request, _ := ctx.Value(requestKey{}).(string)
	d := seckill.Deed{Actor: caller(ctx).User, Action: action, Voucher: v, Request: request}
	if len(detail) > 0 {
		d.Detail, _ = json.Marshal(detail) // texts and numbers: it cannot fail
	}
	return d
}

// patient lets an answer take as long as a sync may.
func patient(ctx huma.Context, next func(huma.Context)) {
	deadline(ctx, syncMax+time.Second)
	next(ctx)
}

// lasting is for what goes on when the client hangs up: a sync that was cut would leave the
// sale closed, and a change would be left in one store.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), syncMax)
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
