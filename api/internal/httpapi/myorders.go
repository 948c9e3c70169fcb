package httpapi

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openseckill/seckill/pkg/seckill"
)

type ordersInput struct {
	Cursor string `query:"cursor" doc:"The nextCursor of the page before"`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"100"`
}

type ordersOutput struct{ Body ordersPage }

type ordersPage struct {
	Orders []orderView     `json:"orders" nullable:"false"`
	Next   seckill.OrderID `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last"`
}

// routeMyOrders registers what callers ask about their own orders.
func (a *API) routeMyOrders(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "listOrders", Method: http.MethodGet, Path: "/api/v1/orders",
		Summary: "The caller's orders, newest first", Security: bearer,
		Middlewares: huma.Middlewares{a.signedIn},
	}, a.listOrders)
	huma.Register(api, huma.Operation{
		OperationID: "getOrderOfVoucher", Method: http.MethodGet, Path: "/api/v1/vouchers/{voucherId}/order",
		Summary: "The caller's live order of a voucher", Security: bearer,
		Middlewares: huma.Middlewares{a.signedIn},
	}, a.getOrderOfVoucher)
}

// listOrders pages through rows. What has no row yet is on the first page, beside them.
func (a *API) listOrders(ctx context.Context, in *ordersInput) (*ordersOutput, error) {
	if in.Cursor != "" {
		before, err := seckill.ParseOrderID(in.Cursor)
		if err != nil {
			return nil, invalid("cursor is not the nextCursor of an earlier page.")
		}
		return a.ordersBefore(ctx, before, in.Limit)
	}
	queued, err := a.queued(ctx)
	if err != nil {
		return nil, err
	}
	out, err := a.ordersBefore(ctx, math.MaxInt64, in.Limit)
	if err != nil {
		return nil, err
	}
	for _, row := range out.Body.Orders { // those that were stored in between
		delete(queued, row.OrderID)
	}
	out.Body.Orders = slices.AppendSeq(out.Body.Orders, maps.Values(queued))
	slices.SortFunc(out.Body.Orders, func(x, y orderView) int { return cmp.Compare(y.OrderID, x.OrderID) })
	return out, nil
}

// ordersBefore reads one row more than the page holds, which tells whether another follows.
func (a *API) ordersBefore(ctx context.Context, before seckill.OrderID, limit int) (*ordersOutput, error) {
	rows, err := a.orders.OrdersOf(ctx, caller(ctx).User, before, limit+1)
	if err != nil {
		return nil, err
	}
	out := &ordersOutput{Body: ordersPage{Orders: []orderView{}}}
	for _, row := range rows {
		if len(out.Body.Orders) == limit {
			out.Body.Next = out.Body.Orders[limit-1].OrderID
			break
		}
		out.Body.Orders = append(out.Body.Orders, viewOrder(row))
	}
	return out, nil
}

// queued are the caller's tickets without a row, by order. The tickets are read first and
// the rows second, as in lookUp.
func (a *API) queued(ctx context.Context) (map[seckill.OrderID]orderView, error) {
	sales, err := a.sales.get(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	u := caller(ctx).User
	tickets, err := a.sale.Tickets(ctx, u, sales)
	if err != nil || len(tickets) == 0 {
		return nil, err
	}
	rows, err := a.orders.Rows(ctx, slices.Collect(maps.Values(tickets)))
	if err != nil {
		return nil, err
	}
	queued := make(map[seckill.OrderID]orderView)
	for v, id := range tickets {
		if _, stored := rows[id]; !stored {
			queued[id] = viewOrder(seckill.Order{ID: id, User: u, Voucher: v, Status: seckill.Queued})
		}
	}
	return queued, nil
}

type orderOfVoucherInput struct {
	VoucherID string `path:"voucherId" doc:"Voucher id, canonical decimal"`
}

// getOrderOfVoucher reads the ticket first and the rows second, as lookUp does.
func (a *API) getOrderOfVoucher(ctx context.Context, in *orderOfVoucherInput) (*orderOutput, error) {
	v, err := voucherID(in.VoucherID)
	if err != nil {
		return nil, err
	}
	u := caller(ctx).User
	held, ticketErr := a.sale.Tickets(ctx, u, []seckill.VoucherID{v})
	live, err := a.orders.LiveOrder(ctx, u, v)
	if err == nil {
		return &orderOutput{Body: viewOrder(live)}, nil
	}
	if !errors.Is(err, seckill.OrderNotFound) {
		return nil, err
	}
	if ticketErr != nil {
		return nil, ticketErr
	}
	id, ok := held[v]
	if !ok {
		return nil, a.ticketless(ctx, v)
	}
	row, err := a.orders.Order(ctx, id)
	switch {
	case errors.Is(err, seckill.OrderNotFound):
		return &orderOutput{Body: viewOrder(seckill.Order{ID: id, User: u, Voucher: v, Status: seckill.Queued})}, nil
	case err != nil:
		return nil, err
	case row.User != u || !row.Status.Live(): // dead: its unit is on the way back
		return nil, seckill.OrderNotFound
	default: // stored since
		return &orderOutput{Body: viewOrder(row)}, nil
	}
}

// ticketless says why there is no ticket: the user holds none, or tickets were lost, and a
// sync that is asked for makes them again.
func (a *API) ticketless(ctx context.Context, v seckill.VoucherID) error {
	intact, err := a.sale.Intact(ctx, []seckill.VoucherID{v})
	if err == nil && !intact {
		err = a.notReady(ctx, v)
	}
	if err == nil || errors.Is(err, seckill.VoucherNotFound) || errors.Is(err, seckill.Ended) {
		return seckill.OrderNotFound
	}
	return err
}
