package books

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
)

// rested brings about: 1, 2 and 3 stored and settled, in a sale of 10.
func rested(t *testing.T) fixture {
	t.Helper()
	f := newFixture(t, 10)
	f.admit(1, 2, 3)
	f.store(1, 2, 3)
	f.settle()
	return f
}

// drift audits the voucher, without a change.
func (f fixture) drift() []seckill.Kind {
	f.t.Helper()
	r, err := f.Audit(f.t.Context(), f.v.ID)
	require.NoError(f.t, err)
	return kinds(r.Drift)
}

// requireMended asserts that Mend brings everything to rest.
func (f fixture) requireMended() {
	f.t.Helper()
	require.NoError(f.t, f.Mend(f.t.Context(), f.v.ID))
	r, err := f.Audit(f.t.Context(), f.v.ID)
	require.NoError(f.t, err)
	require.True(f.t, r.AtRest(), "%+v", r)
}

func TestAuditOfTheWindow(t *testing.T) {
	for name, breaks := range map[string]func(f fixture) error{
		"it begins too late in Redis": func(f fixture) error {
			return f.c.HSet(f.t.Context(), f.key("voucher"), "begin", "9999999999999").Err()
		},
		"it ends too early in Redis": func(f fixture) error {
			return f.c.HSet(f.t.Context(), f.key("voucher"), "end", "5").Err()
		},
		"its begin is no number in Redis": func(f fixture) error {
			return f.c.HSet(f.t.Context(), f.key("voucher"), "begin", "noon").Err()
		},
		"it begins earlier in SQL": func(f fixture) error {
			_, err := f.db.ExecContext(f.t.Context(), "UPDATE seckill_voucher SET begin_at = begin_at - 1")
			return err
		},
		"it ends later in SQL": func(f fixture) error {
			_, err := f.db.ExecContext(f.t.Context(), "UPDATE seckill_voucher SET end_at = end_at + 1")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := rested(t)
			require.NoError(t, breaks(f))
			require.Equal(t, []seckill.Kind{seckill.OtherVersion}, f.drift())
			f.requireMended()
			b, err := f.redis.Books(t.Context(), f.v.ID)
			require.NoError(t, err)
			require.Equal(t, f.now().Begin.UnixMilli(), b.Begin, "SQL decides")
			require.Equal(t, f.now().End.UnixMilli(), b.End)
		})
	}
}

// meanwhile is Redis in which something happens after the first look at a voucher's books.
type meanwhile struct {
	*redisstore.Store
	happens func()
}

func (m *meanwhile) Books(ctx context.Context, v seckill.VoucherID) (seckill.RedisBooks, error) {
	b, err := m.Store.Books(ctx, v)
	if happens := m.happens; happens != nil {
		m.happens = nil
		happens()
	}
	return b, err
}

// A cut of the total that changes the window, too, has both stores at one version before the
// window is in Redis. That is no drift, if it gets there.
func TestAuditDuringAChangeOfTheWindow(t *testing.T) {
	t.Parallel()
	f := rested(t)
	want := f.now()
	want.Total, want.End = 5, want.End.Add(time.Hour)
	want, err := f.Change(t.Context(), want, deed)
	require.NoError(t, err)
	b, err := f.redis.Books(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Equal(t, want.Version, b.Version, "nothing else tells that a change is under way")
	require.NotEqual(t, want.End.UnixMilli(), b.End)

	redis := &meanwhile{f.redis, func() { require.NoError(t, f.Apply(t.Context(), f.v.ID)) }}
	r, err := New(redis, f.sql, slog.New(slog.DiscardHandler)).Audit(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Nil(t, redis.happens)
	require.True(t, r.AtRest(), "%+v", r)
}

// Numbers that fit do not mean that buyers and tickets are the same people.
func TestAuditOfTheBuyers(t *testing.T) {
	swap := func(f fixture, out, in string) {
		require.NoError(f.t, f.c.SRem(f.t.Context(), f.key("order"), out).Err())
		require.NoError(f.t, f.c.SAdd(f.t.Context(), f.key("order"), in).Err())
	}
	for _, c := range []struct {
		name   string
		breaks func(f fixture)
		want   []seckill.Kind
	}{
		{"a stranger stands for a buyer", func(f fixture) { swap(f, "1", "9001") }, []seckill.Kind{seckill.NoBuyer, seckill.ForeignBuyer}},
		{"a stranger stands for a buyer who is queued", func(f fixture) { swap(f, "4", "9001") }, []seckill.Kind{seckill.ForeignBuyer, seckill.NoBuyer}},
		{"no user stands for a buyer", func(f fixture) { swap(f, "2", "somebody") }, []seckill.Kind{seckill.ForeignBuyer, seckill.NoBuyer}},
		{"a stranger stands for a buyer whose order is dead", func(f fixture) {
			swap(f, "2", "9001")
			f.cancel(2)
		}, []seckill.Kind{seckill.NoBuyer, seckill.ForeignBuyer}},
		{"a ticket is another's", func(f fixture) {
			require.NoError(f.t, f.c.HDel(f.t.Context(), f.key("ticket"), "1").Err())
			require.NoError(f.t, f.c.HSet(f.t.Context(), f.key("ticket"), "9001", f.order(1).ID.String()).Err())
		}, []seckill.Kind{seckill.NoTicket, seckill.NoBuyer}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := sale(t)
			c.breaks(f)
			require.ElementsMatch(t, c.want, f.drift())
			require.NoError(t, f.Mend(t.Context(), f.v.ID))
			require.Empty(t, f.drift())
			var want []string
			for user := range f.tickets() {
				want = append(want, user)
			}
			require.ElementsMatch(t, want, f.c.SMembers(t.Context(), f.key("order")).Val())
			require.NotContains(t, want, "9001")
		})
	}
}

// People buy and give back between the pages of an audit, and whatever it sees half of is
// looked at once more: none of them is a finding.
func TestAuditWhileBuyersComeAndGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 400)
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for from := range int64(4) {
		busy.Go(func() {
			for u := from; ctx.Err() == nil; u = (u + 4) % 400 {
				o := f.order(1 + u)
				if _, err := f.redis.Admit(t.Context(), o); !assert.NoError(t, err) {
					return
				}
				if _, err := f.redis.Release(t.Context(), o); !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	for range 20 {
		assert.Empty(t, f.drift())
	}
	cancel()
	busy.Wait()
}

// A key of another type counts as missing: there is a verdict, and a sync puts it right.
func TestAuditOfKeysOfOtherTypes(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want seckill.Kind
	}{
		{"the tickets", []string{"ticket"}, seckill.RedisUneven},
		{"the buyers", []string{"order"}, seckill.RedisUneven},
		{"tickets and buyers", []string{"ticket", "order"}, seckill.RedisUneven},
		{"the stock", []string{"stock"}, seckill.RedisUneven},
		{"the voucher", []string{"voucher"}, seckill.NotLoaded},
		{"which server this is", []string{"server"}, seckill.NotLoaded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, orders := range []bool{false, true} {
				f := newFixture(t, 10)
				if orders {
					f.admit(1, 2, 3)
					f.store(1, 2)
				}
				for _, key := range c.keys {
					name := f.key(key)
					if key == "server" {
						name = "seckill:server"
					}
					require.NoError(t, f.c.Del(t.Context(), name).Err())
					require.NoError(t, f.c.XAdd(t.Context(), &goredis.XAddArgs{Stream: name, Values: []string{"x", "y"}}).Err())
				}
				r, err := f.Audit(t.Context(), f.v.ID)
				require.NoError(t, err)
				require.NotEmpty(t, r.Drift)
				require.Equal(t, c.want, r.Drift[0].Kind, "the voucher as a whole comes first")
				require.NoError(t, f.Mend(t.Context(), f.v.ID))
				require.Empty(t, f.drift())
				if orders {
					requireHolders(t, f, 1, 2, 3)
				} else {
					requireHolders(t, f)
				}
			}
		})
	}
}
