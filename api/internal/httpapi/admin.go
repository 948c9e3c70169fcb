package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
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
	operation := func(id, method, path, summary string, metadata map[string]any) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: "/api/v1/admin/" + path, Summary: summary, Security: bearer,
			MaxBodyBytes: limitedElsewhere, Middlewares: huma.Middlewares{a.adminOnly, named}, Metadata: metadata,
		}
	}
	create := operation("createVoucher", http.MethodPost, "vouchers", "Create a voucher and load it into Redis", lengthy)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, a.createVoucher)
	huma.Register(api, operation("changeVoucher", http.MethodPatch, "vouchers/{voucherId}", "Change a voucher's title, window or total", lengthy), a.changeVoucher)
	huma.Register(api, operation("closeVoucher", http.MethodPost, "vouchers/{voucherId}/close", "End a sale now", lengthy), a.closeVoucher)
	huma.Register(api, operation("syncVoucher", http.MethodPost, "vouchers/{voucherId}/sync", "Rebuild a voucher in Redis from SQL", lengthy), a.syncVoucher)
	huma.Register(api, operation("auditVoucher", http.MethodGet, "vouchers/{voucherId}/audit", "The books of a voucher, and whether they balance", lengthy), a.auditVoucher)
	huma.Register(api, operation("listAdminVouchers", http.MethodGet, "vouchers", "Vouchers with their books, by id", nil), a.listAdminVouchers)
	huma.Register(api, operation("listDeeds", http.MethodGet, "log", "What admins did, newest first", nil), a.listDeeds)
	huma.Register(api, operation("listDead", http.MethodGet, "dead", "The buried messages, oldest first", nil), a.listDead)
	replay := operation("replayDead", http.MethodPost, "dead/{id}/replay", "Admit the user of a buried message anew", lengthy)
	replay.DefaultStatus = http.StatusAccepted
	huma.Register(api, replay, a.replayDead)
	huma.Register(api, operation("dropDead", http.MethodPost, "dead/{id}/drop", "Delete a buried message for ever", nil), a.dropDead)
}

type requestKey struct{}

// named lets a handler write down by which request it did something.
func named(ctx huma.Context, next func(huma.Context)) {
	next(huma.WithValue(ctx, requestKey{}, requestID(humagin.Unwrap(ctx))))
}

// requestOf is the id that named has put there.
func requestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// logOf is the program's log, for lines about what the caller does.
func (a *API) logOf(ctx context.Context, action seckill.Action, v seckill.VoucherID) *slog.Logger {
	return a.log.With("action", action, "voucher", v, "request", requestOf(ctx))
}

// deed is what the caller does, for the log of admins.
func deed(ctx context.Context, action seckill.Action, v seckill.VoucherID, detail map[string]any) seckill.Deed {
	d := seckill.Deed{Actor: caller(ctx).User, Action: action, Voucher: v, Request: requestOf(ctx)}
	if len(detail) > 0 {
		d.Detail, _ = json.Marshal(detail) // texts and numbers: it cannot fail
	}
	return d
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
