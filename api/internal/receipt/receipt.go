// Package receipt signs that an order was accepted, so that its buyer can prove it to a sale
// that forgot it. It imports package seckill.
package receipt

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strconv"
	"strings"
	"sync"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	label    = "seckill receipt 1" // what the key is derived for
	codeSize = 16                  // bytes of the code that a receipt shows
)

// Signer makes and reads receipts, "<voucher id>.<code of order, user and voucher>". It is
// safe for concurrent use. A nil one makes none and believes none.
type Signer struct{ states sync.Pool }

// state is what one signature takes, which another one uses after it.
type state struct {
	hash.Hash
	text, sum []byte
}

// NewSigner derives the key of receipts from a secret; without one there are no receipts.
func NewSigner(secret []byte) *Signer {
	if len(secret) == 0 {
		return nil
	}
	derive := hmac.New(sha256.New, secret)
	derive.Write([]byte(label))
	key := derive.Sum(nil)
	return &Signer{sync.Pool{New: func() any { return &state{Hash: hmac.New(sha256.New, key)} }}}
}

// Sign returns the receipt of an order, of which id, user and voucher count; "" without a key.
func (s *Signer) Sign(o seckill.Order) string {
	if s == nil {
		return ""
	}
	c := s.states.Get().(*state)
	defer s.states.Put(c)
	c.text = binary.BigEndian.AppendUint64(c.text[:0], uint64(o.ID))
	c.text = binary.BigEndian.AppendUint64(c.text, uint64(o.User))
	c.text = binary.BigEndian.AppendUint64(c.text, uint64(o.Voucher))
	c.Reset()
	c.Write(c.text)
	c.sum = c.Sum(c.sum[:0])
	c.text = append(strconv.AppendInt(c.text[:0], int64(o.Voucher), 10), '.')
	c.text = base64.RawURLEncoding.AppendEncode(c.text, c.sum[:codeSize])
	return string(c.text)
}

// Read returns the order that a receipt is good for; false: it is none of this order and user.
func (s *Signer) Read(receipt string, id seckill.OrderID, u seckill.UserID) (o seckill.Order, ok bool) {
	voucher, _, _ := strings.Cut(receipt, ".")
	v, err := seckill.ParseVoucherID(voucher)
	if err != nil || s == nil {
		return o, false
	}
	o = seckill.Order{ID: id, User: u, Voucher: v}
	return o, subtle.ConstantTimeCompare([]byte(receipt), []byte(s.Sign(o))) == 1
}
