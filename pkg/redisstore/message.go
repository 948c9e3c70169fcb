package redisstore

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

var errNoFields = errors.New("the entry has no fields")

// delivery reads a stream entry as the order that it asks for. One that is malformed keeps
// whatever was readable, so that its buyer can be told.
func delivery(p int, m redis.XMessage) seckill.Delivery {
	d := seckill.Delivery{Entry: m.ID, Partition: p, Attempts: 1}
	if len(m.Values) == 0 {
		d.Malformed = errNoFields
		return d
	}
	var id, user, voucher error
	d.Order.ID, id = field(m, "id", seckill.ParseOrderID)
	d.Order.User, user = field(m, "userId", seckill.ParseUserID)
	d.Order.Voucher, voucher = field(m, "voucherId", seckill.ParseVoucherID)
	d.Malformed = errors.Join(id, user, voucher)
	d.Trace, _ = m.Values[traceField].(string) // of an entry that has none: ""
	return d
}

func field[T any](m redis.XMessage, name string, parse func(string) (T, error)) (T, error) {
	text, ok := m.Values[name].(string)
	if !ok {
		var none T
		return none, fmt.Errorf("no field %s", name)
	}
	return parse(text)
}
