package main

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-sql-driver/mysql"
	"github.com/golang-jwt/jwt/v5"
	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

const buyRoute = "/api/v1/vouchers/:voucherId/orders"

// The roles of the textbook ways.
const (
	roleGlobalLock  = "lock-global"
	roleVoucherLock = "lock-voucher"
	roleUserLock    = "lock-user"
	roleDatabase    = "database"
	roleList        = "list"
	roleStream      = "stream"
)

// way decides one purchase: the id of the order, seckill.SoldOut or seckill.AlreadyOrdered.
// It may take the id that is proposed.
type way interface {
	buy(ctx context.Context, proposed seckill.Order) (seckill.OrderID, error)
}

func openWay(role string, b bare, db *sql.DB) (way, error) {
	switch role {
	case roleGlobalLock:
		return locked{b, db, func(seckill.Order) string { return "lock:sale" }}, nil
	case roleVoucherLock:
		return locked{b, db, func(o seckill.Order) string { return "lock:voucher:" + o.Voucher.String() }}, nil
	case roleUserLock:
		return locked{b, db, func(o seckill.Order) string { return "lock:order:" + o.User.String() }}, nil
	case roleDatabase:
		return database{db}, nil
	case roleList:
		return scripted{b, listScript}, nil
	case roleStream:
		return scripted{b, streamScript}, nil
	default:
		return nil, fmt.Errorf("no such role: %q", role)
	}
}

// poolMax is how many connections to the database a textbook way has.
const poolMax = 32

// openTextbook serves a textbook way: the same route, tokens, request ids and metrics as
// ours. The scripts take order ids from a counter in Redis, as all processes must; what
// waits for SQL takes them from one in the process, which is cheaper than any real one.
func (s *server) openTextbook(ctx context.Context, t task) error {
	b := openBare(t.Redis)
	s.closers = append(s.closers, b.db)
	db, err := openDB(ctx, t.DSN)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, db)
	db.SetMaxOpenConns(poolMax)
	db.SetMaxIdleConns(poolMax)
	w, err := openWay(t.Role, b, db)
	if err != nil {
		return err
	}
	book := &textbook{way: w, parser: jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}))}
	const second = 30_000_000 << 32 // any that no sale of ours is in
	book.last.Store(second)
	engine := gin.New()
	engine.Use(gin.Recovery(), observed(obs.NewAdmission(obs.NewRegistry("textbook", ""))))
	engine.POST(buyRoute, book.buy)
	s.handler = engine
	return nil
}

// observed names each request and counts its answer.
func observed(m *obs.Admission) gin.HandlerFunc {
	route := m.Route("POST " + buyRoute)
	return func(c *gin.Context) {
		began := time.Now()
		m.InFlight.Inc()
		defer m.InFlight.Dec()
		c.Header("X-Request-Id", crand.Text())
		c.Next()
		route.Answered(c.Writer.Status(), time.Since(began))
	}
}

type textbook struct {
	way    way
	parser *jwt.Parser
	last   atomic.Int64 // order id
}

// answer is what a buyer is told.
type answer struct {
	Order   seckill.OrderID   `json:"orderId"`
	Voucher seckill.VoucherID `json:"voucherId"`
	Status  seckill.Status    `json:"status"`
}

func (b *textbook) buy(c *gin.Context) {
	user, err := b.caller(c.GetHeader("Authorization"))
	if err != nil {
		c.String(http.StatusUnauthorized, err.Error())
		return
	}
	voucher, err := seckill.ParseVoucherID(c.Param("voucherId"))
	if err != nil {
		c.String(http.StatusNotFound, err.Error())
		return
	}
	o := seckill.Order{ID: seckill.OrderID(b.last.Add(1)), User: user, Voucher: voucher}
	switch id, err := b.way.buy(c.Request.Context(), o); {
	case err == nil:
		c.JSON(http.StatusAccepted, answer{id, voucher, seckill.Queued})
	case errors.Is(err, seckill.SoldOut), errors.Is(err, seckill.AlreadyOrdered):
		c.JSON(http.StatusConflict, gin.H{"code": seckill.CodeOf(err)})
	default:
		c.String(http.StatusInternalServerError, err.Error())
	}
}

func (b *textbook) caller(header string) (seckill.UserID, error) {
	var claims jwt.RegisteredClaims
	_, err := b.parser.ParseWithClaims(strings.TrimPrefix(header, "Bearer "), &claims, func(*jwt.Token) (any, error) {
		return []byte(jwtSecret), nil
	})
	if err != nil {
		return 0, err
	}
	return seckill.ParseUserID(claims.Subject)
}

// database leaves everything to the conditional deduction and the unique index.
type database struct{ *sql.DB }

func (d database) buy(ctx context.Context, o seckill.Order) (seckill.OrderID, error) {
	return o.ID, d.insert(ctx, o)
}

func (d database) insert(ctx context.Context, o seckill.Order) error {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	done, err := tx.ExecContext(ctx, "UPDATE seckill_voucher SET stock = stock - 1 WHERE id = ? AND stock > 0", int64(o.Voucher))
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, seckill.SoldOut)
	}
	now := time.Now().UnixMilli()
	_, err = tx.ExecContext(ctx,
		"INSERT INTO voucher_order (id, user_id, voucher_id, status, created_at, updated_at, expires_at) VALUES (?, ?, ?, 'created', ?, ?, ?)",
		int64(o.ID), int64(o.User), int64(o.Voucher), now, now, now+payTimeout.Milliseconds())
	if repeated := new(mysql.MySQLError); errors.As(err, &repeated) && repeated.Number == 1062 {
		return seckill.AlreadyOrdered
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// locked looks whether anything is left, takes a lock in Redis, and then does as database.
type locked struct {
	bare
	db  *sql.DB
	key func(seckill.Order) string
}

// unlockScript deletes a lock that is still its owner's.
var unlockScript = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

func (l locked) buy(ctx context.Context, o seckill.Order) (seckill.OrderID, error) {
	left, err := stockOf(ctx, l.db, o.Voucher)
	if err != nil {
		return 0, err
	}
	if left == 0 {
		return 0, seckill.SoldOut
	}
	key, token := []string{l.key(o)}, o.ID.String()
	if err := l.lock(ctx, key[0], token); err != nil {
		return 0, err
	}
	err = database{l.db}.insert(ctx, o)
	return o.ID, errors.Join(err, unlockScript.Run(context.WithoutCancel(ctx), l.bare.db, key, token).Err())
}

// lock tries until it gets it. The pause is drawn, so that those who wait do not all come
// back at once, and so short that with hundreds of them the lock is seldom free for long.
func (l locked) lock(ctx context.Context, key, token string) error {
	for {
		ok, err := l.bare.db.SetNX(ctx, key, token, lockTTL).Result()
		if err != nil || ok {
			return err
		}
		pause := time.NewTimer(5*time.Millisecond + rand.N(10*time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

func stockOf(ctx context.Context, db *sql.DB, v seckill.VoucherID) (left int, err error) {
	err = db.QueryRowContext(ctx, "SELECT stock FROM seckill_voucher WHERE id = ?", int64(v)).Scan(&left)
	return left, err
}

// scripted decides in Redis, one script for each request, and leaves the row to a consumer.
type scripted struct {
	bare
	script *redis.Script
}

// deciding is the script of the textbooks, up to where the order goes. The id of an order is
// the voucher's with a number behind it.
const deciding = `
local stock = tonumber(redis.call('get', KEYS[1]))
if not stock or stock <= 0 then
  return 1
end
if redis.call('sismember', KEYS[2], ARGV[2]) == 1 then
  return 2
end
redis.call('incrby', KEYS[1], -1)
redis.call('sadd', KEYS[2], ARGV[2])
local id = ARGV[1] .. string.format('%08d', redis.call('incr', KEYS[3]))
`

const list = "seckill:list"

var (
	streamScript = redis.NewScript(deciding + `
redis.call('xadd', 'seckill:stream', '*', 'id', id, 'userId', ARGV[2], 'voucherId', ARGV[1])
return id`)
	listScript = redis.NewScript(deciding + `
redis.call('lpush', 'seckill:list', id .. ' ' .. ARGV[2] .. ' ' .. ARGV[1])
return id`)
)

func (s scripted) buy(ctx context.Context, o seckill.Order) (seckill.OrderID, error) {
	v := o.Voucher.String()
	said, err := s.script.Run(ctx, s.bare.db, []string{"seckill:stock:" + v, "seckill:order:" + v, "icr:order"}, v, int64(o.User)).Result()
	switch said := said.(type) {
	case string:
		return seckill.ParseOrderID(said)
	case int64:
		if said == 1 {
			return 0, seckill.SoldOut
		}
		return 0, seckill.AlreadyOrdered
	}
	return 0, err
}
