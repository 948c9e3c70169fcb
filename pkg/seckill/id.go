package seckill

import (
	"fmt"
	"strconv"
)

// UserID names a buyer. It is positive and uses all 63 bits.
type UserID int64

// VoucherID names what is on sale. It is positive.
type VoucherID int64

// OrderID names one order for ever; package orderid says how it is made. It is positive.
type OrderID int64

// ParseUserID reads a user id in canonical decimal; anything else is Invalid.
func ParseUserID(s string) (UserID, error) { return parseID[UserID]("user id", s) }

// ParseVoucherID reads a voucher id in canonical decimal; anything else is Invalid.
func ParseVoucherID(s string) (VoucherID, error) { return parseID[VoucherID]("voucher id", s) }

// ParseOrderID reads an order id in canonical decimal; anything else is Invalid.
func ParseOrderID(s string) (OrderID, error) { return parseID[OrderID]("order id", s) }

func (id UserID) String() string    { return strconv.FormatInt(int64(id), 10) }
func (id VoucherID) String() string { return strconv.FormatInt(int64(id), 10) }
func (id OrderID) String() string   { return strconv.FormatInt(int64(id), 10) }

// MarshalText makes the id a string in JSON: JavaScript numbers end at 2^53.
func (id UserID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// MarshalText makes the id a string in JSON: JavaScript numbers end at 2^53.
func (id VoucherID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// MarshalText makes the id a string in JSON: JavaScript numbers end at 2^53.
func (id OrderID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// UnmarshalText reads what MarshalText wrote; anything else is Invalid.
func (id *UserID) UnmarshalText(b []byte) (err error) { *id, err = ParseUserID(string(b)); return err }

// UnmarshalText reads what MarshalText wrote; anything else is Invalid.
func (id *VoucherID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseVoucherID(string(b))
	return err
}

// UnmarshalText reads what MarshalText wrote; anything else is Invalid.
func (id *OrderID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseOrderID(string(b))
	return err
}

// One text for one id: "+7", "07" and " 7" name nothing, so that an id can be
// compared as a string in a script, a key and a log alike.
func parseID[T ~int64](what, s string) (T, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || s[0] == '+' || s[0] == '0' {
		return 0, &Error{Op: "seckill.Parse", Code: Invalid, Err: fmt.Errorf("%s %.40q is not a whole number from 1 to 9223372036854775807", what, s)}
	}
	return T(n), nil
}
