#!/usr/bin/env python3
"""An order and its job in one transaction, from Python with its ordinary driver (psycopg2).

    order.py postgres://shop@db.example/jobs CUSTOMER [--change-my-mind]

Nothing of Pawl is installed here: the job is one call in SQL. With --change-my-mind the program
fails after it, and neither the order nor the job is there.
"""
import json
import sys

import psycopg2


def place_order(connection, customer, change_my_mind):
    with connection:  # commits at the end, or rolls back when something is raised
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO public.orders (customer) VALUES (%s) RETURNING id",
                           [customer])
            (order,) = cursor.fetchone()
            cursor.execute(
                "SELECT pawl.enqueue('invoice.send', %s, idempotency_key => %s, serial_key => %s)",
                [json.dumps({"order": order}), f"invoice-{order}", f"customer-{customer}"])
            (job,) = cursor.fetchone()
            if change_my_mind:
                raise RuntimeError("no, thank you")
            cursor.execute("UPDATE public.orders SET invoice_job = %s WHERE id = %s", [job, order])
    return order, job


def main():
    url, customer, *rest = sys.argv[1:]
    connection = psycopg2.connect(url)
    try:
        order, job = place_order(connection, customer, "--change-my-mind" in rest)
    except RuntimeError as mind:
        sys.exit(f"{mind}: nothing was ordered, and there is no job")
    finally:
        connection.close()
    print(f"order {order}: job {job}")


if __name__ == "__main__":
    main()
