// Package seckill holds the words of a sale: vouchers, orders, their states, and the codes
// of everything that can go wrong. It imports the standard library only, and everything
// else may import it.
package seckill
