// Classifies random vectors with kernels that were compiled ahead of time, and compares with the
// same in double precision. Exit status 77: there is no GPU to try it on.
#include "gpu.h"
#include "kernels.h"
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

struct Problem {
  int rows, features, classes;
  std::vector<float> x, w, bias;

  Problem(int rows, int features, int classes)
      : rows(rows), features(features), classes(classes), x(rows * features), w(features * classes),
        bias(classes) {
    std::mt19937 random(rows);
    std::normal_distribution<float> normal;
    for (auto *values : {&x, &w, &bias})
      for (float &value : *values)
        value = normal(random) / (values == &w ? std::sqrt(float(features)) : 1);
  }

  /// The probabilities of one row.
  std::vector<double> expected(int row) const {
    std::vector<double> p(classes);
    double sum = 0;
    for (int c = 0; c < classes; ++c) {
      double score = bias[c];
      for (int k = 0; k < features; ++k)
        score += double(x[row * features + k]) * w[k * classes + c];
      sum += p[c] = std::exp(score);
    }
    for (double &value : p)
      value /= sum;
    return p;
  }
};

/// Launches both kernels on the default stream; a failure is told as the driver puts it.
bool launched(const Problem &problem, uint64_t x, uint64_t w, uint64_t bias, uint64_t p) {
  int status = scores(nullptr, x, w, bias, p, problem.rows, problem.features, problem.classes);
  if (!status)
    status = softmax(nullptr, p, problem.rows, problem.classes);
  if (status)
    std::fprintf(stderr, "launch: %s\n", kernels_error_string(status));
  return status == 0;
}

bool classify(Gpu &gpu, const Problem &problem) {
  auto copy = [&](const std::vector<float> &v) { return gpu.allocate(4 * v.size(), v.data()); };
  std::vector<float> probabilities(problem.rows * problem.classes);
  const size_t bytes = 4 * probabilities.size();
  const uint64_t p = gpu.allocate(bytes);
  if (!launched(problem, copy(problem.x), copy(problem.w), copy(problem.bias), p) ||
      !gpu.fetch(probabilities.data(), p, bytes))
    return false;
  double worst = 0;
  for (int row = 0; row < problem.rows; ++row) {
    std::vector<double> expected = problem.expected(row);
    for (int c = 0; c < problem.classes; ++c)
      worst = std::fmax(worst, std::fabs(probabilities[row * problem.classes + c] - expected[c]));
  }
  std::printf("%d x %d -> %d: largest error of a probability %.1e\n", problem.rows,
              problem.features, problem.classes, worst);
  return worst < 2e-3;
}

int main() {
  Gpu gpu;
  if (!gpu.open())
    return std::puts("no GPU here: built, but not run"), 77;
  // The second shape divides nothing: the general variant of the first kernel takes it.
  return classify(gpu, {1000, 512, 96}) && classify(gpu, {333, 101, 37}) ? 0 : 1;
}
