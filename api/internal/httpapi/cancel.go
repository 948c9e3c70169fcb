package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// queue finds an order that waits to be stored, whoever asks; see redisstore.QueuedOrder.
type queue interface {
	QueuedOrder(ctx context.Context, id seckill.OrderID) (seckill.Order, error)
}

// announcer wakes those who wait for a status; see redisstore.Announce.
type announcer interface {
	Announce(ctx context.Context, ids []seckill.OrderID) error
}

// life changes orders that are stored; see sqlstore.Cancel and sqlstore.Pay.
type life interface {
	Cancel(ctx context.Context, id seckill.OrderID) (seckill.Order, error)
	Pay(ctx context.Context, id seckill.OrderID, p seckill.Payment) (seckill.Order, error)
}

// giver gives the unit of a dead order back to the sale; see books.Giver.
type giver interface {
	GiveBack(ctx context.Context, o seckill.Order) error
}

// passOnMax is how long Redis may take to hear of what SQL has decided. The workers tell it
// what it did not hear.
const passOnMax = time.Second

// routeLife registers what changes an order after it was stored.
func (a *API) routeLife(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "cancelOrder", Method: http.MethodPost, Path: "/api/v1/orders/{orderId}/cancel",
		Summary: "Cancel an unpaid order", Security: bearer,
		Middlewares: huma.Middlewares{a.signedIn},
	}, a.cancelOrder)
	huma.Register(api, huma.Operation{
		OperationID: "payOrder", Method: http.MethodPost, Path: "/api/v1/orders/{orderId}/pay",
		Summary: "Tell that an order was paid", Security: bearer,
		MaxBodyBytes: limitedElsewhere,
		Middlewares:  huma.Middlewares{a.serviceOnly},
	}, a.payOrder)
}

type cancelInput struct {
	OrderID string `path:"orderId" doc:"Order id, canonical decimal"`
}

// cancelOrder lets the order die in SQL, then puts its unit back on sale. An order that is
// dead already is answered as it is.
func (a *API) cancelOrder(ctx context.Context, in *cancelInput) (*orderOutput, error) {
	id, err := orderID(in.OrderID)
	if err != nil {
		return nil, err
	}
	found, err := a.lookUp(ctx, id) // whose it is never changes
	if err != nil {
		return nil, err
	}
	if found.Body.Status == seckill.Queued {
		return nil, seckill.CodeQueued
	}
	o, err := a.life.Cancel(ctx, id)
	if err != nil {
		return nil, err
	}
	a.passOn(ctx, o)
	return &orderOutput{Body: viewOrder(o)}, nil
}

// passOn makes a change of an order known in Redis, as far as that answers.
func (a *API) passOn(ctx context.Context, o seckill.Order) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), passOnMax)
	defer cancel()
	var back error
	if o.ReleaseDue {
		back = a.giver.GiveBack(ctx, o)
	}
	if err := errors.Join(back, a.sale.Announce(ctx, []seckill.OrderID{o.ID})); err != nil {
		a.unheard.Warn(ctx, "Redis did not hear of an order's change, the workers will tell it", "order", o.ID, "error", err)
	}
}

// findQueued finds an order of anyone that has no row. It asks for the row once more: an order
// may be stored between the two looks.
func (a *API) findQueued(ctx context.Context, id seckill.OrderID) (*orderOutput, error) {
	o, err := a.sale.QueuedOrder(ctx, id)
	if errors.Is(err, seckill.OrderNotFound) {
		o, err = a.orders.Order(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	return &orderOutput{Body: viewOrder(o)}, nil
}

func isAdmin(ctx context.Context) bool { return caller(ctx).Role == auth.Admin }
