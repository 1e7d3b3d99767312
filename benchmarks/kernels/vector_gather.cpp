// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// vector_gather: a particle system on std::vector. push_back adds the particles (the vector grows
// by doubling), each has a few random partners, and every step gathers from the partners.
//   vector_gather [particles] [partners] [steps]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

struct Particle {
  double position;
  double velocity;
  double charge;
  double force;
};

class System {
public:
  System(std::size_t count, std::size_t partners) : partners_(partners) {
    std::mt19937_64 random(7);
    for (std::size_t i = 0; i < count; ++i)
      particles_.push_back({static_cast<double>(i), 0.0, random() % 2 ? 1.0 : -1.0, 0.0});
    for (std::size_t i = 0; i < count * partners; ++i)
      partner_.push_back(static_cast<std::uint32_t>(random() % count));
  }

  void step(double dt) {
    for (std::size_t i = 0; i < particles_.size(); ++i) {
      double force = 0;
      for (std::size_t k = 0; k < partners_; ++k) {
        const Particle &other = particles_[partner_[i * partners_ + k]];
        const double distance = (other.position - particles_[i].position) * 1e-6;
        force += other.charge / (1.0 + distance * distance);
      }
      particles_[i].force = force * particles_[i].charge;
    }
    for (Particle &p : particles_) {
      p.velocity += p.force * dt;
      p.position += p.velocity * dt;
    }
  }

  double energy() const {
    double sum = 0;
    for (const Particle &p : particles_)
      sum += p.velocity * p.velocity;
    return sum;
  }

private:
  std::size_t partners_;
  std::vector<Particle> particles_;
  std::vector<std::uint32_t> partner_;
};

} // namespace

int main(int argc, char **argv) {
  std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000000;
  std::size_t partners = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4;
  int steps = argc > 3 ? std::atoi(argv[3]) : 2;
  System system(count, partners);
  for (int i = 0; i < steps; ++i)
    system.step(0.01);
  std::printf("vector_gather particles=%zu energy=%.9e\n", count, system.energy());
}
