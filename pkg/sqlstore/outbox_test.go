package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/stretchr/testify/require"
)

// publishAll publishes all that waits, and says what it was: "created 1".
func (f fixture) publishAll() (all []string) {
	f.t.Helper()
	for {
		n, err := f.Publish(f.t.Context(), 10, func(_ context.Context, events []seckill.Event) error {
			for _, e := range events {
				all = append(all, fmt.Sprint(e.Status, " ", e.Order))
			}
			return nil
		})
		require.NoError(f.t, err)
		if n == 0 {
			return all
		}
	}
}

// Every change of a status is in the outbox, and nothing else is.
func TestPublish(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		require.Empty(t, f.publishAll())
		f.store(order(1, 7, v), order(2, 8, v), order(3, 9, v))
		f.store(order(1, 7, v), order(4, 7, v)) // stored before; a duplicate
		_, err := f.Reject(t.Context(), order(4, 7, v), seckill.ReasonDuplicate)
		require.NoError(t, err)
		_, err = f.Reject(t.Context(), order(4, 7, v), seckill.ReasonDuplicate)
		require.NoError(t, err)
		_, err = f.Pay(t.Context(), 1, payment("r1"))
		require.NoError(t, err)
		_, err = f.Cancel(t.Context(), 1)
		require.ErrorIs(t, err, seckill.CodePaid)
		_, err = f.Cancel(t.Context(), 2)
		require.NoError(t, err)
		_, err = f.Pay(t.Context(), 2, payment("r2"))
		require.ErrorIs(t, err, seckill.CodeCancelled)
		f.overdue(3)
		_, err = f.Expire(t.Context(), 10)
		require.NoError(t, err)

		var events []seckill.Event
		n, err := f.Publish(t.Context(), 100, func(_ context.Context, e []seckill.Event) error {
			events = e
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 5, n)
		require.Len(t, events, 7)
		for i := range events {
			require.WithinDuration(t, time.Now(), events[i].At, time.Minute)
			events[i].At = time.Time{}
		}
		event := func(id string, o seckill.Order, s seckill.Status, why seckill.Reason) seckill.Event {
			return seckill.Event{ID: id, Order: o.ID, User: o.User, Voucher: o.Voucher, Status: s, Reason: why}
		}
		require.Equal(t, []seckill.Event{
			event(events[0].ID, order(1, 7, v), seckill.Created, ""),
			event(events[1].ID, order(2, 8, v), seckill.Created, ""),
			event(events[2].ID, order(3, 9, v), seckill.Created, ""),
			event(events[3].ID, order(4, 7, v), seckill.Rejected, seckill.ReasonDuplicate),
			event(events[4].ID, order(1, 7, v), seckill.Paid, ""),
			event(events[5].ID, order(2, 8, v), seckill.Cancelled, ""),
			event(events[6].ID, order(3, 9, v), seckill.Cancelled, seckill.ReasonExpired),
		}, events)
		require.Empty(t, f.publishAll(), "once")
	})
}

// What is not known to be published is published again, under the same ids.
func TestPublishAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		f.store(order(1, 7, v), order(2, 8, v))
		var ids [][]string
		publish := func(answer error) (int, error) {
			return f.Publish(t.Context(), 10, func(_ context.Context, events []seckill.Event) error {
				var seen []string
				for _, e := range events {
					seen = append(seen, e.ID)
				}
				ids = append(ids, seen)
				return answer
			})
		}
		down := errors.New("down")
		_, err := publish(down)
		require.ErrorIs(t, err, down)
		b, err := f.Backlog(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, b.Waiting)
		require.Less(t, b.Oldest, time.Minute)

		n, err := publish(nil)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Len(t, ids, 2)
		require.Len(t, ids[0], 2)
		require.NotEqual(t, ids[0][0], ids[0][1])
		require.Equal(t, ids[0], ids[1])
		b, err = f.Backlog(t.Context())
		require.NoError(t, err)
		require.Equal(t, seckill.Backlog{}, b)
	})
}

// One publishes at a time; nobody waits for them.
func TestPublishTakesTurns(t *testing.T) {
	t.Parallel()
	f := onMariaDB(t, options)
	v := f.voucher(5)
	f.store(order(1, 7, v))
	n, err := f.Publish(t.Context(), 10, func(ctx context.Context, _ []seckill.Event) error {
		n, err := f.Publish(ctx, 10, func(context.Context, []seckill.Event) error { return errors.New("a second one") })
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, []seckill.Outcome{seckill.Stored}, f.store(order(2, 8, v)), "orders are stored meanwhile")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"created 2"}, f.publishAll())
}

func TestNoted(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		require.Empty(t, f.Noted())
		f.store(order(1, 7, v))
		f.store(order(2, 8, v))
		<-f.Noted()
		require.Empty(t, f.Noted())
	})
}

func TestForgetPublished(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(9)
		for id := seckill.OrderID(1); id <= 3; id++ {
			f.store(order(id, seckill.UserID(id), v))
		}
		require.Len(t, f.publishAll(), 3)
		f.store(order(4, 4, v)) // not published
		f.exec("UPDATE order_outbox SET created_at = 1")
		forget := func(limit int) int64 {
			n, err := f.ForgetPublished(t.Context(), time.Hour, limit)
			require.NoError(t, err)
			return n
		}
		require.Zero(t, forget(10), "they are young")
		f.exec("UPDATE order_outbox SET published_at = 1 WHERE published_at IS NOT NULL")
		require.EqualValues(t, 2, forget(2))
		require.EqualValues(t, 1, forget(2))
		require.Zero(t, forget(2))
		require.Equal(t, []string{"created 4"}, f.publishAll())
	})
}
