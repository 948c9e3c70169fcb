package seckill

import "time"

// LatePayment is a payment that came after its order had died: the money has to go back.
type LatePayment struct {
	Payment
	Order OrderID
	At    time.Time // by the database's clock
}
