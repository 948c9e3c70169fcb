package httpapi

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// tickets tells which orders a user holds in Redis; see redisstore.Tickets.
type tickets interface {
	Tickets(ctx context.Context, u seckill.UserID, vs []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error)
	Intact(ctx context.Context, vs []seckill.VoucherID) (bool, error)
}

// orders reads order rows; see sqlstore.
type orders interface {
	Order(ctx context.Context, id seckill.OrderID) (seckill.Order, error)
	Rows(ctx context.Context, ids []seckill.OrderID) (map[seckill.OrderID]seckill.Order, error)
	LiveOrder(ctx context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Order, error)
	OrdersOf(ctx context.Context, u seckill.UserID, before seckill.OrderID, limit int) ([]seckill.Order, error)
}

const (
	// ticketLife is how long after a sale its tickets are still looked for: Redis keeps
	// them for 7 days, and a day allows for clocks.
	ticketLife = 8 * 24 * time.Hour
	pageMax    = 500 // vouchers read at a time
)

// orderView is an order as its owner sees it.
type orderView struct {
	OrderID   seckill.OrderID   `json:"orderId"`
	VoucherID seckill.VoucherID `json:"voucherId"`
	UserID    seckill.UserID    `json:"userId"`
	Status    seckill.Status    `json:"status" enum:"queued,created,paid,cancelled,rejected"`
	Reason    seckill.Reason    `json:"reason,omitempty" doc:"With cancelled: expired, if nobody paid in time. With rejected, whose unit is back on sale: duplicate, the buyer holds another order of the voucher, which the call for the voucher's order answers, as when a purchase that ended in 503 had been stored after all; short, the database had no unit left; lost, Redis lost the order and nothing could bring it back; malformed or worn_out, it could not be stored, and an admin finds its message among the buried ones"`
	CreatedAt string            `json:"createdAt,omitempty" format:"date-time"`
	ExpiresAt string            `json:"expiresAt,omitempty" format:"date-time" doc:"When an unpaid order is cancelled"`
}

type orderInput struct {
	OrderID string `path:"orderId" doc:"Order id, canonical decimal"`
	Wait    string `query:"wait" doc:"How long to wait while the order is queued, up to 30s" example:"10s"`
	ReceiptInput
}

type orderOutput struct{ Body orderView }

// getOrder answers at once or, with wait, when the order is no longer queued.
func (a *API) getOrder(ctx context.Context, in *orderInput) (*orderOutput, error) {
	id, err := orderID(in.OrderID)
	if err != nil {
		return nil, err
	}
	wait, err := parseWait(in.Wait)
	if err != nil {
		return nil, err
	}
	ctx = in.show(ctx)
	if wait == 0 {
		return a.lookUp(ctx, id)
	}
	return a.await(ctx, id, wait)
}

// lookUp finds an order from the moment of its 202, by its receipt also where Redis has
// forgotten it. It takes answerMax at most, because who waits for an order has no deadline.
func (a *API) lookUp(ctx context.Context, id seckill.OrderID) (*orderOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	found, err := a.known(ctx, id)
	if errors.Is(err, seckill.OrderNotFound) {
		return a.recall(ctx, id)
	}
	return found, err
}

// known looks where orders are. The ticket is read first and the row second: an order
// leaves Redis only after its row is there, so one of the two is seen.
func (a *API) known(ctx context.Context, id seckill.OrderID) (*orderOutput, error) {
	who := caller(ctx)
	sales, err := a.sales.get(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	found, err := a.find(ctx, who, id, sales)
	if !errors.Is(err, seckill.OrderNotFound) {
		return found, err
	}
	if isAdmin(ctx) {
		return a.findQueued(ctx, id)
	}
	// The list of sales may be a second old, and the order of a sale that is younger.
	all, err := a.loadSales(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	younger := slices.DeleteFunc(slices.Clone(all), func(v seckill.VoucherID) bool { return slices.Contains(sales, v) })
	if len(younger) > 0 {
		if found, err = a.find(ctx, who, id, younger); !errors.Is(err, seckill.OrderNotFound) {
			return found, err
		}
	}
	return a.findTicketless(ctx, who, id, all)
}

// findTicketless looks into the streams where tickets are missing, until a sync has made
// them again. Where they are not, nothing else can have the order.
func (a *API) findTicketless(ctx context.Context, who auth.Caller, id seckill.OrderID, sales []seckill.VoucherID) (*orderOutput, error) {
	intact, err := a.sale.Intact(ctx, sales)
	if err != nil {
		return nil, err
	}
	if intact {
		return nil, seckill.OrderNotFound
	}
	found, err := a.findQueued(ctx, id)
	if err == nil && found.Body.UserID != who.User {
		return nil, seckill.OrderNotFound
	}
	return found, err
}

// find looks for an order in the tickets of some sales, then in SQL. A row says more than
// a ticket, so it wins, and it is enough where Redis does not answer.
func (a *API) find(ctx context.Context, who auth.Caller, id seckill.OrderID, sales []seckill.VoucherID) (*orderOutput, error) {
	held, ticketErr := a.sale.Tickets(ctx, who.User, sales)
	row, err := a.orders.Order(ctx, id)
	if err == nil && (row.User == who.User || who.Role == auth.Admin) {
		return &orderOutput{Body: viewOrder(row)}, nil
	}
	if err != nil && !errors.Is(err, seckill.OrderNotFound) {
		return nil, err
	}
	if ticketErr != nil {
		return nil, ticketErr
	}
	for v, order := range held {
		if order == id {
			queued := seckill.Order{ID: id, User: who.User, Voucher: v, Status: seckill.Queued}
			return &orderOutput{Body: viewOrder(queued)}, nil
		}
	}
	return nil, seckill.OrderNotFound
}

// loadSales lists the vouchers that can have tickets in Redis.
func (a *API) loadSales(ctx context.Context, _ struct{}) ([]seckill.VoucherID, error) {
	var sales []seckill.VoucherID
	over := a.now().Add(-ticketLife)
	for after := seckill.VoucherID(0); ; {
		page, err := a.vouchers.Vouchers(ctx, after, pageMax)
		if err != nil {
			return nil, err
		}
		for _, v := range page {
			if v.End.After(over) {
				sales = append(sales, v.ID)
			}
			after = v.ID
		}
		if len(page) < pageMax {
			return sales, nil
		}
	}
}

func viewOrder(o seckill.Order) orderView {
	view := orderView{OrderID: o.ID, VoucherID: o.Voucher, UserID: o.User, Status: o.Status, Reason: o.Reason}
	if !o.CreatedAt.IsZero() {
		view.CreatedAt = stamp(o.CreatedAt)
	}
	if !o.ExpiresAt.IsZero() {
		view.ExpiresAt = stamp(o.ExpiresAt)
	}
	return view
}
