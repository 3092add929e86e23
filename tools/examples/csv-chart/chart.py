# SPDX-License-Identifier: Apache-2.0
"""Reads weather.csv and draws monthly means and rainfall of each station to chart.png."""

import csv
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

WIDTH, HEIGHT, DPI = 9.6, 5.4, 100  # 960 x 540 pixels


def read(path):
    """{station: {month: ([temperatures], [rain])}} and the number of rows."""
    table = defaultdict(lambda: defaultdict(lambda: ([], [])))
    rows = 0
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            temperatures, rain = table[row["station"]][row["date"][:7]]
            temperatures.append(float(row["temperature_c"]))
            rain.append(float(row["rain_mm"]))
            rows += 1
    return table, rows


def draw(table, path):
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(WIDTH, HEIGHT), dpi=DPI, sharex=True, height_ratios=(2, 1)
    )
    for number, (station, months) in enumerate(sorted(table.items())):
        labels = sorted(months)
        at = np.arange(len(labels))
        top.plot(at, [np.mean(months[label][0]) for label in labels], label=station)
        bottom.bar(
            at + 0.27 * (number - 1), [sum(months[label][1]) for label in labels], width=0.27
        )
    top.set_ylabel("mean temperature (°C)")
    top.legend(loc="upper right")
    top.grid(alpha=0.3)
    bottom.set_ylabel("rain (mm)")
    bottom.set_xticks(at[::6], labels[::6])
    figure.suptitle("Three weather stations, month by month")
    figure.tight_layout()
    figure.savefig(path)


def main():
    table, rows = read("weather.csv")
    draw(table, "chart.png")
    print(f"{rows} rows, {len(table)} stations: chart.png")


main()
