package httpapi

import (
	"context"
	"errors"

	"github.com/openseckill/seckill/pkg/seckill"
)

type payInput struct {
	OrderID string `path:"orderId" doc:"Order id, canonical decimal"`
	Body    newPayment
}

type newPayment struct {
	Reference string `json:"reference" minLength:"1" maxLength:"128" pattern:"^[!-~]([ -~]*[!-~])?$" patternDescription:"printable ASCII" doc:"Names the payment, for ever: a repeat with it is the same payment"`
	Amount    int64  `json:"amount" minimum:"0" doc:"Minor units of the voucher's currency"`
}

// payOrder makes an order paid. The service is not its owner: an order that has no row yet is
// looked for among those that wait, and never called missing while it may be one of them.
func (a *API) payOrder(ctx context.Context, in *payInput) (*orderOutput, error) {
	id, err := orderID(in.OrderID)
	if err != nil {
		return nil, err
	}
	p := seckill.Payment(in.Body)
	o, err := a.life.Pay(ctx, id, p)
	if errors.Is(err, seckill.OrderNotFound) {
		if _, err := a.sale.QueuedOrder(ctx, id); err == nil {
			return nil, seckill.CodeQueued
		} else if !errors.Is(err, seckill.OrderNotFound) {
			return nil, err
		}
		o, err = a.life.Pay(ctx, id, p) // it may have been stored between the two looks
	}
	if err != nil {
		return nil, err
	}
	a.passOn(ctx, o)
	return &orderOutput{Body: viewOrder(o)}, nil
}
