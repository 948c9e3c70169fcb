-- +goose Up

ALTER TABLE seckill_voucher ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
