package seckill

import "time"

// Payment is money that a payment service took for an order.
type Payment struct {
	Reference string // names it at the service, for ever
	Amount    int64  // minor units of the voucher's currency
}

// Event says that an order moved to another status. It is published at least once.
type Event struct {
	ID      string // "<number>-<index>", the same each time it is published; the numbers of one order ascend
	Order   OrderID
	User    UserID
	Voucher VoucherID
	Status  Status    // the new one
	Reason  Reason    // of a rejected or an expired one
	At      time.Time // by the database's clock, UTC, whole milliseconds
}

// Backlog are the transactions whose changes are not published yet.
type Backlog struct {
	Waiting int64
	Oldest  time.Duration // age of the oldest; 0: there is none
}
