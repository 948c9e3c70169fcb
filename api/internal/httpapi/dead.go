package httpapi

import (
	"context"
	"errors"

	"github.com/openseckill/seckill/pkg/seckill"
)

// graves are the buried messages; see redisstore.Buried.
type graves interface {
	Buried(ctx context.Context, after seckill.DeadID, count int) ([]seckill.Dead, error)
	DeadMessage(ctx context.Context, id seckill.DeadID) (seckill.Dead, error)
	DropDead(ctx context.Context, id seckill.DeadID) (bool, error)
}

// replayer admits the user of a buried message anew; see books.Replay.
type replayer interface {
	Replay(ctx context.Context, id seckill.DeadID, fresh seckill.OrderID) (seckill.Order, error)
}

// ids mints order ids; see package orderid.
type ids interface {
	Next(ctx context.Context, v seckill.VoucherID) (seckill.OrderID, error)
}

// deadView is a buried message. Ids that were not readable are left out.
type deadView struct {
	ID        string            `json:"id" doc:"Names it among the buried messages; of partition 3 it begins with 3:" example:"1764500000000-0"`
	Original  string            `json:"original" doc:"The id it had in the order stream; empty where another program wrote it" example:"1764499999000-0"`
	Reason    seckill.Reason    `json:"reason" doc:"Why it could not be stored"`
	BuriedAt  string            `json:"buriedAt" format:"date-time" doc:"By Redis' clock"`
	Attempts  int64             `json:"attempts" doc:"How often it was delivered"`
	OrderID   seckill.OrderID   `json:"orderId,omitempty"`
	UserID    seckill.UserID    `json:"userId,omitempty"`
	VoucherID seckill.VoucherID `json:"voucherId,omitempty"`
	Fields    []string          `json:"fields" nullable:"false" doc:"The message as it was: name, value, name, value, ..."`
}

type deadOutput struct{ Body deadPage }

type deadPage struct {
	Items []deadView `json:"items" nullable:"false"`
	Next  string     `json:"next,omitempty" doc:"The cursor of the next page; absent on the last"`
}

func (a *API) listDead(ctx context.Context, in *pageInput) (*deadOutput, error) {
	var after seckill.DeadID
	if in.Cursor != "" {
		var err error
		if after, err = seckill.ParseDeadID(in.Cursor); err != nil {
			return nil, badCursor
		}
	}
	list, err := a.sale.Buried(ctx, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	body := deadPage{Items: []deadView{}}
	for _, d := range list {
		if len(body.Items) == in.Limit {
			body.Next = body.Items[in.Limit-1].ID
			break
		}
		body.Items = append(body.Items, viewDead(d))
	}
	return &deadOutput{Body: body}, nil
}

func viewDead(d seckill.Dead) deadView {
	view := deadView{
		ID: d.ID.String(), Original: d.Original, Reason: d.Reason, BuriedAt: stamp(d.BuriedAt), Attempts: d.Attempts,
		OrderID: d.Order.ID, UserID: d.Order.User, VoucherID: d.Order.Voucher, Fields: d.Fields,
	}
	if view.Fields == nil {
		view.Fields = []string{}
	}
	return view
}

type deadInput struct {
	ID string `path:"id" doc:"Id of the buried message" example:"1764500000000-0"`
}

type replayOutput struct {
	Location string `header:"Location"`
	Body     bought
}

// replayDead admits the user of a message anew, as if they bought now, and drops the message.
func (a *API) replayDead(ctx context.Context, in *deadInput) (*replayOutput, error) {
	d, err := a.exhume(ctx, in.ID, seckill.DeadReplayed)
	if err != nil {
		return nil, err
	}
	fresh, err := a.ids.Next(ctx, d.Order.Voucher)
	if err != nil {
		return nil, err
	}
	log := a.logOf(ctx, seckill.DeadReplayed, d.Order.Voucher).With("message", d.ID.String(), "order", fresh)
	o, err := errand(ctx, a.errands, log, func(ctx context.Context) (seckill.Order, error) {
		return a.books.Replay(ctx, d.ID, fresh)
	})
	switch {
	case errors.Is(err, seckill.AlreadyOrdered):
		return nil, &refusal{code: seckill.Conflict, detail: "The user holds an order of this voucher. The message stays: drop it if nothing is due to them."}
	case errors.Is(err, seckill.Invalid):
		return nil, &refusal{code: seckill.Conflict, detail: "The message names no user or no voucher that can be read. It can only be dropped."}
	case err != nil:
		return nil, err
	}
	return &replayOutput{orderPath(o.ID), bought{OrderID: o.ID, VoucherID: o.Voucher, Status: seckill.Queued}}, nil
}

type dropOutput struct{ Body deadView }

// dropDead deletes a message for ever, and answers what it said. The log keeps that, too.
func (a *API) dropDead(ctx context.Context, in *deadInput) (*dropOutput, error) {
	d, err := a.exhume(ctx, in.ID, seckill.DeadDropped)
	if err != nil {
		return nil, err
	}
	dropped, err := a.sale.DropDead(ctx, d.ID)
	if err == nil && !dropped {
		err = seckill.DeadNotFound
	}
	if err != nil {
		return nil, err
	}
	return &dropOutput{viewDead(d)}, nil
}

// exhume finds a message and logs what is about to become of it.
func (a *API) exhume(ctx context.Context, text string, action seckill.Action) (d seckill.Dead, err error) {
	id, err := seckill.ParseDeadID(text)
	if err != nil {
		return d, invalid("id is not that of a buried message, such as 1764500000000-0.")
	}
	if d, err = a.sale.DeadMessage(ctx, id); err != nil {
		return d, err
	}
	return d, a.deeds.LogDeed(ctx, deed(ctx, action, d.Order.Voucher, map[string]any{"message": viewDead(d)}))
}
