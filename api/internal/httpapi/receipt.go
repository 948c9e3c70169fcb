package httpapi

import (
	"context"
	"errors"

	"github.com/openseckill/seckill/pkg/seckill"
)

// recoverer finds an end for an order that Redis forgot; see package books.
type recoverer interface {
	Recover(ctx context.Context, o seckill.Order) (seckill.Order, error)
}

// ReceiptInput is where a receipt is shown. It is exported for huma, which passes over others.
type ReceiptInput struct {
	Header string `header:"Seckill-Receipt" doc:"The receipt that came with the order: it finds the order again, or its end, where the sale forgot it"`
	Query  string `query:"receipt" doc:"The same, for those who cannot send a header"`
}

type receiptKey struct{}

// show lets lookUp see the receipt.
func (in ReceiptInput) show(ctx context.Context) context.Context {
	receipt := in.Header
	if receipt == "" {
		receipt = in.Query
	}
	return context.WithValue(ctx, receiptKey{}, receipt)
}

// recall comes last, when neither a ticket nor then a row was found. Who shows no receipt, or
// one of another order or user, learns nothing.
func (a *API) recall(ctx context.Context, id seckill.OrderID) (*orderOutput, error) {
	receipt, _ := ctx.Value(receiptKey{}).(string)
	o, ok := a.receipts.Read(receipt, id, caller(ctx).User)
	if !ok {
		return nil, seckill.OrderNotFound
	}
	found, err := a.books.Recover(ctx, o)
	if errors.Is(err, seckill.NotReady) {
		a.resync.ask(ctx, o.Voucher)
	}
	if err != nil {
		return nil, err
	}
	if found.Reason == seckill.ReasonLost { // just now: a row that was there is found before
		a.meter.Lost()
	}
	return &orderOutput{Body: viewOrder(found)}, nil
}
