-- +goose Up

-- Ids of orders up to this one belong to rehearsals that were forgotten: their receipts buy nothing.
ALTER TABLE seckill_voucher ADD COLUMN forgotten BIGINT NOT NULL DEFAULT 0;
