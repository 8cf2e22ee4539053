-- An order and its job in one transaction, in psql:
--
--     psql -v customer=ada postgres://shop@db.example/jobs -f order.sql
--
-- Either both are there or none is. The key makes it safe to run again: the same order is the same
-- job. Who may call pawl.enqueue is said once, by the owner of the schema: see README.md.
\set ON_ERROR_STOP on
BEGIN;
CREATE TABLE IF NOT EXISTS public.orders (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer TEXT NOT NULL,
  invoice_job UUID
);
INSERT INTO public.orders (customer) VALUES (:'customer') RETURNING id AS order_id \gset
UPDATE public.orders
   SET invoice_job = pawl.enqueue('invoice.send', jsonb_build_object('order', :order_id),
                                  idempotency_key => 'invoice-' || :order_id,
                                  serial_key => 'customer-' || :'customer')
 WHERE id = :order_id;
COMMIT;
SELECT id, customer, invoice_job FROM public.orders WHERE id = :order_id;
