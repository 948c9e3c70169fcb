package seckill

import "time"

// Payment is money that a payment service took for an order.
type Payment struct {
	Reference string // names it at the service, for ever
	Amount    int64  // minor units of the voucher's currency
}

// Change is a move of one order to another status, for whoever follows orders.
type Change struct {
	Order   OrderID   `json:"orderId"`
	User    UserID    `json:"userId"`
	Voucher VoucherID `json:"voucherId"`
	Status  Status    `json:"status"` // the new one
	Reason  Reason    `json:"reason,omitempty"`
	At      int64     `json:"at"` // Unix ms, by the database's clock
}

// Event is a change as it is published, at least once.
type Event struct {
	ID string // "<number>-<index>", the same each time it is published; those of one order ascend
	Change
}

// Backlog are the transactions whose changes are not published yet.
type Backlog struct {
	Waiting int64
	Oldest  time.Duration // age of the oldest; 0: there is none
}
